/** The number of statements of a write does not depend on the amount of data; on PostgreSQL it locks rows in the documented order. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { useApi } from "../support/api.ts";
import { runsEverything } from "../support/engine-independent.ts";
import { prepareRequest } from "../support/scenes.ts";
import { countStatements, makeLargeTenant } from "../support/statements.ts";
import { orderViolations, documentedOrder } from "../support/stress/deadlocks.ts";
import { LockRecorder } from "../support/stress/lock-recorder.ts";
import { reuseTenant, makeTenant, routes, statementsMax, type Tenant, writes } from "../support/tenant.ts";

/** Without the response cache, so that every request is counted like the first one. */
const api = useApi({ cacheBytes: 0 });
const isPostgres = inject("engine") === "postgres";

/** Known violations of the lock order; their transactions are retried after a deadlock. This list may only shrink. */
const knownViolations = [
  "sessions.create: holds tokens (reference), requests users (reference); organization: not held",
  "configuration-versions.upload: holds configuration_versions (change), requests workspaces (change); organization: reference",
];

describe("a write request", () => {
  let spare: Tenant | undefined;
  let large: Tenant | undefined;
  let recorder: LockRecorder | undefined;
  beforeAll(async () => {
    if (runsEverything) large = await makeLargeTenant(api);
    if (isPostgres) recorder = await LockRecorder.on(api.address);
  });
  afterAll(() => recorder?.end());

  // `writes.test.ts` counts deletions, with all other successful writes.
  const changes = routes.filter(({ operation }) => writes(operation) && operation.method !== "DELETE");

  it.each(changes)("needs at most 9 statements, a run transition 12: $id", async (route) => {
    spare = await reuseTenant(api, spare);
    for (const tenant of large === undefined ? [spare] : [spare, large]) {
      const { statements } = await countStatements(api, api.admin, route, tenant);
      expect(statements).toBeLessThanOrEqual(statementsMax(route));
    }
  });

  it.runIf(isPostgres)("takes its locks in the order of docs/reference/lock-order.md", async () => {
    for (const route of routes.filter(({ operation }) => operation.method === "DELETE")) {
      spare = await reuseTenant(api, spare);
      // Earlier deletions may have removed what the request needs.
      const request = await prepareRequest(route, { api, tenant: spare }).catch(async () => {
        spare = await makeTenant(api);
        return prepareRequest(route, { api, tenant: spare });
      });
      for (const caller of [...request.callers, spare.owner, api.admin])
        if ((await request.send(caller)).status < 300) break;
    }
    expect(recorder?.steps.length).toBeGreaterThan(50);
    const found = orderViolations(recorder?.steps ?? [], documentedOrder());
    expect(found.filter((each) => !knownViolations.includes(each))).toEqual([]);
  });
});
