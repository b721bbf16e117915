/**
 * The number of statements of a request does not depend on how much there is. That does not depend on the engine either, so a quick run
 * compares on SQLite alone; PostgreSQL is asked everything once, and every write takes its locks in the written order there.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Caller, useApi } from "../support/api.ts";
import { grantProject, makeMember, makeProject, makeTeam, makeVarset, resource } from "../support/builders.ts";
import { change } from "../support/database.ts";
import { isOnBothEngines } from "../support/depth.ts";
import { tellsAll } from "../support/once.ts";
import { staged } from "../support/scenes.ts";
import { departures, writtenOrder } from "../support/stress/circles.ts";
import { Witness } from "../support/stress/witness.ts";
import {
  intact,
  makeTenant,
  pathOf,
  type Route,
  routes,
  statementsMax,
  type Tenant,
  withQuery,
  writes,
} from "../support/tenant.ts";

/** Nothing is kept, so that every request is counted as the first of its kind. */
const api = useApi({ cacheBytes: 0 });
const isPostgres = inject("engine") === "postgres";
let small: Tenant;
let large: Tenant;

/** How many of each there are in the large tenant: more than a page holds, where it is compared with the small one. */
const many = tellsAll ? 21 : 2;

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

/** An owner and an organization's token are asked the same of the database; the kinds differ before it. */
const kinds = ["owner", "member", ...(isOnBothEngines ? (["organization token"] as const) : [])] as const;

describe("a request that reads", () => {
  // A stream goes on asking: `run-streams` counts that.
  const reads = routes.filter(({ operation }) => !writes(operation) && operation.answer !== "events");
  // A content is a row of its own beside the thing that it belongs to, and its chunks are others.
  const mostOf: Readonly<Record<string, number>> = {
    // Two contents are read, of versions that are looked up one after the other.
    listStateVersionChanges: 7,
    // The names of what events mention, and of what that belongs to, which only the first says.
    listAuditEvents: 5,
  };
  const most = ({ id, operation }: Route) =>
    mostOf[id] ?? { document: 2, content: 4 }[operation.answer as "document"] ?? 3;

  it.each(reads)("needs no more for a large organization: $id", async (route) => {
    for (const kind of kinds) {
      const lots = await count(large.callers[kind], route, large);
      expect(lots.statements, kind).toBeLessThanOrEqual(most(route));
      if (tellsAll) expect((await count(small.callers[kind], route, small)).statements, kind).toBe(lots.statements);
    }
  });

  it.each(reads.filter(({ operation }) => operation.query?.include !== undefined))(
    "needs a constant number more with include: $id",
    async (route) => {
      const callerIn = (tenant: Tenant) =>
        route.operation.path.startsWith("/admin/") ? api.admin : tenant.callers.owner;
      const plain = await count(callerIn(large), route, large);
      for (const name of route.operation.query?.include ?? []) {
        const query = `?include=${name}`;
        const lots = await count(callerIn(large), route, large, query);
        expect(lots.status).toBe(200);
        if (tellsAll) expect((await count(callerIn(small), route, small, query)).statements).toBe(lots.statements);
        // One for each thing on the way, and never less than two.
        expect(lots.statements).toBeLessThanOrEqual(plain.statements + Math.max(2, name.split(".").length));
      }
    },
  );
});

/** Where locks are still taken in another order; a deadlock is tried again there. This list only shrinks. */
const knownDepartures = [
  "sessions.create: holds tokens (reference), asks for users (reference); organization: not held",
  "configuration-versions.upload: holds configuration_versions (change), asks for workspaces (change); organization: reference",
];

describe("a request that writes", () => {
  let spare: Tenant | undefined;
  let witness: Witness | undefined;
  beforeAll(async () => {
    if (isPostgres) witness = await Witness.on(api.address);
  });
  afterAll(() => witness?.end());

  // What removes something is counted in `writes.test.ts`, with everything else that goes through.
  const changes = routes.filter(({ operation }) => writes(operation) && operation.method !== "DELETE");

  it.each(changes)("needs at most 9, a step of a run 12: $id", async (route) => {
    spare = await intact(api, spare);
    for (const tenant of tellsAll ? [spare, large] : [spare]) {
      const { statements } = await count(api.admin, route, tenant);
      expect(statements).toBeLessThanOrEqual(statementsMax(route));
    }
  });

  it.runIf(isPostgres)("takes its locks in the order of docs/architecture.md", async () => {
    for (const route of routes.filter(({ operation }) => operation.method === "DELETE")) {
      spare = await intact(api, spare);
      // What others have removed is missing.
      const request = await staged(route, { api, tenant: spare }).catch(async () => {
        spare = await makeTenant(api);
        return staged(route, { api, tenant: spare });
      });
      for (const caller of [...request.callers, spare.owner, api.admin])
        if ((await request.send(caller)).status < 300) break;
    }
    expect(witness?.steps.length).toBeGreaterThan(50);
    const found = departures(witness?.steps ?? [], writtenOrder());
    expect(found.filter((each) => !knownDepartures.includes(each))).toEqual([]);
  });
});
