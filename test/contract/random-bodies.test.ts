/** Random bodies never cause a server error or a partial write. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useApi } from "../support/api.ts";
import { deep, seed } from "../support/depth.ts";
import { sampled } from "../support/engine-independent.ts";
import { fingerprint } from "../support/database-snapshots.ts";
import { exampleFor, reuseTenant, makeTenant, pathOf, routes, type Tenant, writes } from "../support/tenant.ts";
import { mutated, anyJson } from "../support/invalid-input.ts";

const api = useApi();

describe("random bodies", () => {
  let last: Tenant | undefined;

  const withBody = routes.filter(
    ({ operation }) => writes(operation) && operation.body !== undefined && !operation.isSigned,
  );

  it.each(withBody)("cause no server error and no partial write: $id", async (route) => {
    let tenant = await reuseTenant(api, last);
    const bodies = fc.oneof(
      { weight: 1, arbitrary: anyJson },
      { weight: 3, arbitrary: mutated(exampleFor(route.operation, tenant)) },
    );
    // A refused request changes nothing, so the fingerprint after it is valid before the next one.
    let lastFingerprint: string | undefined;
    await fc.assert(
      fc.asyncProperty(bodies, fc.boolean(), async (body, asAdmin) => {
        const { operation } = route;
        const before = lastFingerprint ?? (await fingerprint(api.database));
        lastFingerprint = undefined;
        const caller = asAdmin ? api.admin : tenant.callers.owner;
        const answer = await caller.send(
          operation.method,
          pathOf(operation, tenant.params),
          JSON.stringify(body) ?? "",
        );
        expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
        if (answer.status < 400) {
          // It succeeded, so it may have renamed or deleted what the next body needs.
          if (operation.method === "DELETE" || /rename|ByName|Organization$/.test(route.id))
            tenant = await makeTenant(api);
          return;
        }
        expect(answer.body.errors.length).toBeGreaterThan(0);
        for (const error of answer.body.errors) {
          expect(error).toMatchObject({
            status: String(answer.status),
            title: expect.any(String),
            detail: expect.any(String),
          });
        }
        const after = await fingerprint(api.database);
        expect(after).toBe(before);
        lastFingerprint = after;
      }),
      { numRuns: sampled(deep(14, 1500)), seed },
    );
    last = tenant;
  });
});
