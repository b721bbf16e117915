/**
 * The number of statements of a request does not depend on the amount of data. It is the same on both engines, so a quick run compares
 * sizes only on SQLite. On PostgreSQL every request is sent once, and writes must lock rows in the documented order.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Caller, useApi } from "../support/api.ts";
import { grantProject, makeMember, makeProject, makeTeam, makeVarset, resource } from "../support/builders.ts";
import { change } from "../support/database.ts";
import { isOnBothEngines } from "../support/depth.ts";
import { runsEverything } from "../support/engine-independent.ts";
import { prepareRequest } from "../support/scenes.ts";
import { orderViolations, documentedOrder } from "../support/stress/deadlocks.ts";
import { LockRecorder } from "../support/stress/lock-recorder.ts";
import {
  reuseTenant,
  makeTenant,
  pathOf,
  type Route,
  routes,
  statementsMax,
  type Tenant,
  withQuery,
  writes,
} from "../support/tenant.ts";

/** Without the response cache, so that every request is counted like the first one. */
const api = useApi({ cacheBytes: 0 });
const isPostgres = inject("engine") === "postgres";
let small: Tenant;
let large: Tenant;

/** How many of each resource the large tenant has: more than a page, if it is compared with the small one. */
const many = runsEverything ? 21 : 2;

beforeAll(async () => {
  small = await makeTenant(api);
  large = await makeTenant(api);
  await addProjectOfClient(small, small.params["project_id"] ?? "");
  for (let count = 0; count < many; count += 1) {
    const team = await makeTeam(api, large.name);
    await makeMember(api, large.name, [team.id, large.teamId]);
    const project = await makeProject(api, large.name);
    await grantProject(api, large.id, project.id, large.teamId, "admin");
    await api.admin.post(`/teams/${team.id}/relationships/organization-memberships`, {
      data: [{ type: "organization-memberships", id: large.member.membershipId }],
    });
    await large.member.post(`/users/${large.member.id}/authentication-tokens`);
    const variable = resource("vars", { key: `key-${count}`, category: "terraform", value: "a value" });
    await large.member.post(`/workspaces/${large.params["workspace_id"]}/vars`, variable);
    const set = `/varsets/${large.params["varset_id"]}/relationships`;
    await large.owner.post(`${set}/vars`, variable);
    await large.owner.post(`${set}/projects`, { data: [{ type: "projects", id: project.id }] });
    await makeVarset(api, large.name, { global: true });
    await addProjectOfClient(large, project.id);
    const token = resource("agent-tokens", { description: `token-${count}` });
    await large.owner.post(`/agent-pools/${large.params["agent_pool_id"]}/authentication-tokens`, token);
  }
});

async function addProjectOfClient({ owner, params }: Tenant, id: string): Promise<void> {
  const projects = { data: [{ type: "projects", id }] };
  await owner.post(`/oauth-clients/${params["oauth_client_id"]}/relationships/projects`, projects);
}

async function count(
  caller: Caller,
  route: Route,
  tenant: Tenant,
  query = "",
): Promise<{ statements: number; status: number }> {
  await change(api.database);
  const before = api.database.statementCount();
  const answer = await caller.send(
    route.operation.method,
    withQuery(pathOf(route.operation, tenant.params), query),
    route.operation.example,
  );
  return { statements: api.database.statementCount() - before, status: answer.status };
}

/** For owners and organization tokens the database executes the same statements. */
const kinds = ["owner", "member", ...(isOnBothEngines ? (["organization token"] as const) : [])] as const;

describe("a read request", () => {
  // A stream keeps querying, which the tests of run-streams count.
  const reads = routes.filter(({ operation }) => !writes(operation) && operation.answer !== "events");
  // Contents and their chunks are separate rows.
  const maxById: Readonly<Record<string, number>> = {
    // Reads two contents, of versions that are looked up one after the other.
    listStateVersionChanges: 7,
    // Reads the names of the resources that events mention, and then of their parents.
    listAuditEvents: 5,
  };
  const readStatementsMax = ({ id, operation }: Route) =>
    maxById[id] ?? { document: 2, content: 4 }[operation.answer as "document"] ?? 3;

  it.each(reads)("needs no more statements for a large organization: $id", async (route) => {
    for (const kind of kinds) {
      const counted = await count(large.callers[kind], route, large);
      expect(counted.statements, kind).toBeLessThanOrEqual(readStatementsMax(route));
      if (runsEverything)
        expect((await count(small.callers[kind], route, small)).statements, kind).toBe(counted.statements);
    }
  });

  it.each(reads.filter(({ operation }) => operation.query?.include !== undefined))(
    "needs a constant number of additional statements with include: $id",
    async (route) => {
      const callerIn = (tenant: Tenant) =>
        route.operation.path.startsWith("/admin/") ? api.admin : tenant.callers.owner;
      const plain = await count(callerIn(large), route, large);
      for (const name of route.operation.query?.include ?? []) {
        const query = `?include=${name}`;
        const counted = await count(callerIn(large), route, large, query);
        expect(counted.status).toBe(200);
        if (runsEverything)
          expect((await count(callerIn(small), route, small, query)).statements).toBe(counted.statements);
        // One for each relationship in the path, and at least two.
        expect(counted.statements).toBeLessThanOrEqual(plain.statements + Math.max(2, name.split(".").length));
      }
    },
  );
});

/** Known violations of the lock order; their transactions are retried after a deadlock. This list may only shrink. */
const knownViolations = [
  "sessions.create: holds tokens (reference), requests users (reference); organization: not held",
  "configuration-versions.upload: holds configuration_versions (change), requests workspaces (change); organization: reference",
];

describe("a write request", () => {
  let spare: Tenant | undefined;
  let recorder: LockRecorder | undefined;
  beforeAll(async () => {
    if (isPostgres) recorder = await LockRecorder.on(api.address);
  });
  afterAll(() => recorder?.end());

  // `writes.test.ts` counts deletions, with all other successful writes.
  const changes = routes.filter(({ operation }) => writes(operation) && operation.method !== "DELETE");

  it.each(changes)("needs at most 9 statements, a run transition 12: $id", async (route) => {
    spare = await reuseTenant(api, spare);
    for (const tenant of runsEverything ? [spare, large] : [spare]) {
      const { statements } = await count(api.admin, route, tenant);
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
