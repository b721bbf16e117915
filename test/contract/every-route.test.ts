/** Rules that hold for every route, including new ones: authentication, tenant isolation and unknown ids. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../support/api.ts";
import { deep, seed } from "../support/depth.ts";
import { describeOnce } from "../support/engine-independent.ts";
import { makeTenant, pathOf, type Route, routes, type Tenant, withQuery, writes } from "../support/tenant.ts";

const api = useApi();
let mine: Tenant;
let theirs: Tenant;

beforeAll(async () => {
  mine = await makeTenant(api);
  theirs = await makeTenant(api);
});

describeOnce("without a token", () => {
  it.each(routes.filter(({ operation }) => operation.isSigned))(
    "$id responds with 404 to a URL without a valid signature",
    async ({ operation }) => {
      const answer = await api.nobody.send(operation.method, pathOf(operation, theirs.params), "{}");
      expect(answer.status).toBe(404);
    },
  );

  const byLink = ({ operation }: Route) => operation.isPublic === true && operation.path.includes(":");

  it.each(routes.filter(byLink))("$id responds with 404 to an unknown link", async ({ operation }) => {
    const answer = await api.nobody.send(operation.method, pathOf(operation, theirs.params), operation.example);
    expect(answer.status).toBe(404);
  });

  const isPublic = ({ operation }: Route) => operation.isPublic === true && !writes(operation);
  it.each(routes.filter((route) => !route.operation.isSigned && !byLink(route) && !isPublic(route)))(
    "$id responds with 401",
    async ({ operation }) => {
      const answer = await api.nobody.send(operation.method, pathOf(operation, theirs.params), operation.example);
      expect(answer.status).toBe(401);
    },
  );
});

describe("another organization's callers", () => {
  const foreign = routes.filter(({ operation }) => operation.path.includes(":"));

  it.each(foreign)("get 404 from $id", async ({ operation }) => {
    for (const [kind, caller] of Object.entries(mine.callers)) {
      const answer = await caller.send(operation.method, pathOf(operation, theirs.params), operation.example);
      expect(answer.status, `${kind}: ${JSON.stringify(answer.body)}`).toBe(404);
    }
  });

  it("never see its data, with any combination of route and query", async () => {
    const kinds = Object.keys(mine.callers) as (keyof Tenant["callers"])[];
    const secrets = [theirs.name, theirs.id, ...Object.values(theirs.params)];
    const call = fc.record({
      route: fc.constantFrom(...routes.filter(({ operation }) => !writes(operation))),
      kind: fc.constantFrom(...kinds),
      query: fc.constantFrom(
        "",
        `?q=${theirs.name}`,
        `?filter[names]=${theirs.name}`,
        "?page[size]=100",
        `?filter[email]=${theirs.member.email}`,
      ),
    });
    await fc.assert(
      fc.asyncProperty(call, async ({ route, kind, query }) => {
        const answer = await mine.callers[kind].get(withQuery(pathOf(route.operation, mine.params), query));
        const text = JSON.stringify({ ...answer.body, links: undefined });
        for (const secret of secrets) expect(text).not.toContain(secret);
      }),
      { numRuns: deep(60, 3000), seed },
    );
  });

  it("can't refer to its resources in a body", async () => {
    const { owner } = mine.callers;
    const teams = { data: [{ type: "teams", id: theirs.teamId }] };
    const membership = {
      data: { type: "organization-memberships", attributes: { email: "new@example.com" }, relationships: { teams } },
    };
    expect((await owner.post(`/organizations/${mine.name}/organization-memberships`, membership)).status).toBe(422);
    const users = { data: [{ type: "users", id: theirs.member.username }] };
    expect((await owner.post(`/teams/${mine.teamId}/relationships/users`, users)).status).toBe(422);
    const memberships = { data: [{ type: "organization-memberships", id: theirs.member.membershipId }] };
    expect((await owner.post(`/teams/${mine.teamId}/relationships/organization-memberships`, memberships)).status).toBe(
      422,
    );
    for (const [type, id] of [
      ["workspaces", theirs.params["workspace_id"]],
      ["projects", theirs.projectId],
    ] as const) {
      const path = `/varsets/${mine.params["varset_id"]}/relationships/${type}`;
      expect((await owner.post(path, { data: [{ type, id }] })).status).toBe(422);
    }
  });
});

describe("an unknown id", () => {
  const unknown = new Proxy({} as Record<string, string>, { get: () => "none-0000000000000000" });
  it.each(routes.filter(({ operation }) => operation.path.includes(":")))(
    "gives a site admin 404 at $id",
    async ({ operation }) => {
      expect((await api.admin.send(operation.method, pathOf(operation, unknown), operation.example)).status).toBe(404);
    },
  );
});
