/** The response cache: how many statements a repeated request takes, and that no response is stale. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { type Api, type Caller, startApiOn, useApi } from "../support/api.ts";
import { data, type Org, resource } from "../support/builders.ts";
import { atTime, before, inMs } from "../support/clock.ts";
import { change } from "../support/database.ts";

const api = useApi();
const inProject = (id: string) => ({ project: { data: { type: "projects", id } } });
const isSqlite = inject("engine") === "sqlite";
/** Another server on the same register. */
let other: Api;
let org: Org;

beforeAll(async () => {
  const database = openDatabase(api.address);
  other = await startApiOn({ address: api.address, database, drop: () => database.close() });
  org = await api.makeOrganization();
});
afterAll(() => other.stop());

async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const before = api.database.statementCount();
  await work();
  return api.database.statementCount() - before;
}

/** The minimum of several attempts: on PostgreSQL, commits in other databases of the same server change the snapshot id too. */
async function leastOf(work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 25; time += 1) least = Math.min(least, await statementsOf(work));
  return least;
}

describe("a repeated request", () => {
  const paths = async () => {
    const { id, attributes } = await api.makeWorkspace(org.name);
    return {
      "a workspace by its id": `/workspaces/${id}`,
      "a workspace by its name": `/organizations/${org.name}/workspaces/${attributes.name}`,
      "a list": `/organizations/${org.name}/workspaces?page[size]=20`,
      "a project": `/projects/${org.defaultProjectId}`,
      "an organization": `/organizations/${org.name}`,
    };
  };

  it("without a commit in between: the same bytes with one statement, or none on SQLite", async () => {
    for (const [what, path] of Object.entries(await paths())) {
      const first = await org.owner.get(path);
      let second = first;
      expect(await leastOf(async () => (second = await org.owner.get(path))), what).toBe(isSqlite ? 0 : 1);
      expect(second.body).toEqual(first.body);
      expect(second.status).toBe(200);
      for (const name of ["etag", "content-type", "content-length", "cache-control"])
        expect(second.headers.get(name), name).toBe(first.headers.get(name));
    }
  });

  it("after an unrelated commit: one statement for a workspace; other resources are read again", async () => {
    for (const [what, path] of Object.entries(await paths())) {
      await org.owner.get(path);
      await change(api.database);
      // On PostgreSQL the first request needs one statement to find out that there was a commit.
      const most = what.startsWith("a workspace") ? (isSqlite ? 1 : 2) : what === "a list" ? 3 : 2;
      expect(await statementsOf(() => org.owner.get(path)), what).toBeLessThanOrEqual(most);
    }
  });

  it.runIf(isSqlite)("after the last uses of tokens were stored: like without a commit", async () => {
    const beside = await startApiOn({ address: api.address, database: api.database, drop: async () => {} });
    await beside.as(org.owner.token).get("/account/details");
    const all = Object.entries(await paths());
    for (const [, path] of all) await org.owner.get(path);
    const before = api.database.commitCount();
    await beside.stop();
    expect(api.database.commitCount() - before).toBe(1);
    for (const [what, path] of all) expect(await statementsOf(() => org.owner.get(path)), what).toBe(0);
  });

  it("while others write: one statement for a workspace", async () => {
    const [seen, other] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    await org.owner.get(`/workspaces/${seen.id}`);
    await change(api.database);
    await org.owner.get(`/workspaces/${other.id}`);
    expect(await leastOf(() => org.owner.get(`/workspaces/${seen.id}`))).toBeLessThanOrEqual(1);
  });

  it("after a change of the workspace: as many statements as the first request", async () => {
    const { id } = await api.makeWorkspace(org.name);
    await org.owner.get(`/workspaces/${id}`);
    await org.owner.patch(`/workspaces/${id}`, resource("workspaces", { description: "new" }));
    await org.owner.get("/account/details");
    expect(await statementsOf(() => org.owner.get(`/workspaces/${id}`))).toBe(2);
  });

  it("concurrent requests of one token share its lookup", async () => {
    const paths = await Promise.all(
      Array.from({ length: 8 }, async () => `/workspaces/${(await api.makeWorkspace(org.name)).id}`),
    );
    const askAll = () => Promise.all(paths.map((path) => org.owner.get(path)));
    await askAll();
    await askAll();
    expect(await leastOf(askAll)).toBeLessThan(8);
  });
});

it("counts once against the rate limit, from the cache or not", async () => {
  const database = openDatabase(api.address);
  const limited = await startApiOn({ address: api.address, database, drop: () => database.close() }, { rateLimit: 12 });
  const { id } = await api.makeWorkspace(org.name);
  const statuses: number[] = [];
  for (let time = 0; time < 9; time += 1) {
    statuses.push((await limited.as(org.owner.token).get(`/workspaces/${id}`)).status);
    await change(api.database);
  }
  expect(statuses).toEqual(Array.from({ length: 9 }, () => 200));
  await limited.stop();
});

/** Sends requests to one server until the response is cached, makes a change through the other, and sends it again. */
async function seenAtOnce(caller: Caller, path: string, work: () => Promise<unknown>) {
  const here = api.as(caller.token);
  const before = await here.get(path);
  await here.get(path);
  await work();
  return { before, after: await here.get(path) };
}

describe("no response is stale after", () => {
  it("a change of the resource", async () => {
    const { id } = await api.makeWorkspace(org.name);
    for (const description of ["one", "two", "three"]) {
      const { after } = await seenAtOnce(org.owner, `/workspaces/${id}`, () =>
        other.as(org.owner.token).patch(`/workspaces/${id}`, resource("workspaces", { description })),
      );
      expect(data(after).attributes.description).toBe(description);
    }
  });

  it("a deletion and a creation", async () => {
    const { id, attributes } = await api.makeWorkspace(org.name);
    const list = `/organizations/${org.name}/workspaces?search[name]=${attributes.name}`;
    const gone = await seenAtOnce(org.owner, list, () => other.as(org.owner.token).delete(`/workspaces/${id}`));
    expect(data(gone.before)).toHaveLength(1);
    expect(data(gone.after)).toEqual([]);
    expect((await org.owner.get(`/workspaces/${id}`)).status).toBe(404);
    const back = await seenAtOnce(org.owner, list, () =>
      other
        .as(org.owner.token)
        .post(`/organizations/${org.name}/workspaces`, resource("workspaces", { name: attributes.name })),
    );
    expect(data(back.after)).toHaveLength(1);
  });

  it("the revocation of the token", async () => {
    const member = await api.makeMember(org.name, [org.ownersTeamId]);
    const { id } = await api.makeWorkspace(org.name);
    const [token] = data(await member.get(`/users/${member.id}/authentication-tokens`));
    const { after } = await seenAtOnce(member, `/workspaces/${id}`, () =>
      other.as(member.token).delete(`/authentication-tokens/${token.id}`),
    );
    expect(after.status).toBe(401);
  });

  it("the creation, change and removal of a grant on a project", async () => {
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    const project = await api.makeProject(org.name);
    const { id } = await api.makeWorkspace(org.name, {}, inProject(project.id));
    const path = `/workspaces/${id}`;
    expect((await member.get(path)).status).toBe(404);
    const record = await api.grantProject(project.id, team.id, "read");
    const given = await member.get(path);
    expect(data(given).attributes.permissions["can-queue-apply"]).toBe(false);
    const raised = await seenAtOnce(member, path, () =>
      other.as(org.owner.token).patch(`/team-projects/${record}`, resource("team-projects", { access: "write" })),
    );
    expect(data(raised.after).attributes.permissions["can-queue-apply"]).toBe(true);
    const withdrawn = await seenAtOnce(member, path, () =>
      other.as(org.owner.token).delete(`/team-projects/${record}`),
    );
    expect(withdrawn.after.status).toBe(404);
  });

  it("a change of a grant on a workspace, and of a team's members", async () => {
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    const { id } = await api.makeWorkspace(org.name);
    await api.grantWorkspace(id, team.id, "read");
    const { after } = await seenAtOnce(member, `/workspaces/${id}`, () =>
      other.as(org.owner.token).delete(`/teams/${team.id}/relationships/users`, {
        data: [{ type: "users", id: member.username }],
      }),
    );
    expect(after.status).toBe(404);
  });

  it("the caller lost the site admin role", async () => {
    const member = await api.makeMember(org.name);
    const { id } = await api.makeWorkspace(org.name);
    const become = (is: boolean) =>
      other.admin.patch(`/admin/users/${member.id}`, resource("users", { "is-site-admin": is }));
    await become(true);
    const { before, after } = await seenAtOnce(member, `/workspaces/${id}`, () => become(false));
    expect(before.status).toBe(200);
    expect(after.status).toBe(404);
  });

  it("a change of organization or project that a workspace shows", async () => {
    const project = await api.makeProject(org.name);
    const { id } = await api.makeWorkspace(org.name, {}, inProject(project.id));
    const owner = other.as(org.owner.token);
    const duration = await seenAtOnce(org.owner, `/workspaces/${id}`, () =>
      owner.patch(`/projects/${project.id}`, resource("projects", { "auto-destroy-activity-duration": "14d" })),
    );
    expect(data(duration.after).attributes["auto-destroy-activity-duration"]).toBe("14d");
    const mode = await seenAtOnce(org.owner, `/workspaces/${id}`, () =>
      owner.patch(`/organizations/${org.name}`, resource("organizations", { "default-execution-mode": "local" })),
    );
    expect(data(mode.after).attributes["execution-mode"]).toBe("local");
    const force = await seenAtOnce(org.owner, `/organizations/${org.name}`, () =>
      owner.patch(`/organizations/${org.name}`, resource("organizations", { "default-execution-mode": "remote" })),
    );
    expect(data(force.after).attributes["default-execution-mode"]).toBe("remote");
  });

  it("the organization refused user tokens", async () => {
    const closing = await api.makeOrganization();
    const { id } = await api.makeWorkspace(closing.name);
    const owners = await other.makeTeamToken(closing.ownersTeamId);
    const { after } = await seenAtOnce(closing.owner, `/workspaces/${id}`, () =>
      owners.patch(`/organizations/${closing.name}`, resource("organizations", { "user-tokens-enabled": false })),
    );
    expect(after.status).toBe(401);
  });
});

describe("expiry of tokens", () => {
  async function expectCachedUntil(end: string, caller: Caller, path: string): Promise<void> {
    await atTime(before(end), async () => {
      for (let time = 0; time < 3; time += 1) expect((await caller.get(path)).status).toBe(200);
    });
    await atTime(inMs(Date.parse(end) - Date.now() + 1), async () => expect((await caller.get(path)).status).toBe(401));
  }

  it("refuses an expired token although nothing was committed", async () => {
    const { id } = await api.makeWorkspace(org.name);
    const end = inMs(3_600_000);
    const made = await org.owner.post(
      `/users/${org.owner.id}/authentication-tokens`,
      resource("authentication-tokens", { description: "short", "expired-at": end }),
    );
    const caller = api.as(data(made).attributes.token);
    await expectCachedUntil(end, caller, `/workspaces/${id}`);
  });

  it("refuses a token that has become too old for its organization although nothing was committed", async () => {
    const strict = await api.makeOrganization();
    const { id } = await api.makeWorkspace(strict.name);
    const made = data(await strict.owner.post(`/users/${strict.owner.id}/authentication-tokens`));
    const caller = api.as(made.attributes.token);
    const age = 3_600_000;
    await api.database.write(async ({ db }) => {
      await db.updateTable("organizations").set({ maxTtlEnabled: 1 }).where("id", "=", strict.id).execute();
      await db
        .updateTable("organizationTokenTtlPolicies")
        .set({ maxTtlMs: age })
        .where("organizationId", "=", strict.id)
        .where("tokenType", "=", "user")
        .execute();
    });
    const end = new Date(Date.parse(made.attributes["created-at"]) + age).toISOString();
    await expectCachedUntil(end, caller, `/workspaces/${id}`);
  });
});

describe("access that expires", () => {
  /** A member of a team with access for an hour, on which the paths depend; requested until the responses are cached. */
  async function endingAccess() {
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    const project = await api.makeProject(org.name);
    const { id } = await api.makeWorkspace(org.name, {}, inProject(project.id));
    const end = inMs(3_600_000);
    const record = await api.makeTeamProject(project.id, team.id, { access: "read", "expires-at": end });
    const asked = `/workspaces/${id}`;
    const statuses = async (times: number) => {
      const given: number[] = [];
      for (let time = 0; time < times; time += 1) given.push((await member.get(asked)).status);
      return given;
    };
    return { end, record, statuses, member, id, list: `/organizations/${org.name}/workspaces` };
  }

  it("is served from the cache until it expires, and not afterwards", async () => {
    const { end, statuses, member, list } = await endingAccess();
    await atTime(before(end), async () => {
      expect(await statuses(5)).toEqual([200, 200, 200, 200, 200]);
      expect(await leastOf(() => statuses(1))).toBe(isSqlite ? 0 : 1);
      expect(data(await member.get(list))).toHaveLength(1);
      expect(data(await member.get(list))).toHaveLength(1);
    });
    await atTime(end, async () => {
      expect(await statuses(3)).toEqual([404, 404, 404]);
      expect(data(await member.get(list))).toEqual([]);
    });
  });

  it("also ends in the reach and the access holders that other users see", async () => {
    const { end, member } = await endingAccess();
    const paths = [
      `/users/${member.id}/reach?filter[organization][name]=${org.name}&filter[permission]=can-read-state-versions`,
      `/organizations/${org.name}/access-holders?filter[permission]=can-read-state-versions&page[size]=100`,
    ];
    const requests = paths.map(
      (path) => async () => JSON.stringify(data(await org.owner.get(path))).includes(member.id),
    );
    await atTime(before(end), async () => {
      for (const ask of requests) {
        for (let time = 0; time < 5; time += 1) expect(await ask()).toBe(true);
        expect(await leastOf(ask)).toBe(isSqlite ? 0 : 1);
      }
    });
    await atTime(end, async () => {
      for (const ask of requests) expect(await ask()).toBe(false);
    });
  });

  it("ends in the reach of a token when the token expires", async () => {
    const { end, member } = await endingAccess();
    const sooner = inMs(60_000);
    const body = resource("authentication-tokens", { "expired-at": sooner });
    const { id } = data(await member.post(`/users/${member.id}/authentication-tokens`, body));
    const refused = async () => {
      const path = `/authentication-tokens/${id}/reach?filter[organization][name]=${org.name}`;
      return (await member.get(path)).body.meta.refused;
    };
    await atTime(before(sooner), async () => {
      for (let time = 0; time < 5; time += 1) expect(await refused()).toBeUndefined();
      expect(await leastOf(refused)).toBe(isSqlite ? 0 : 1);
    });
    await atTime(sooner, async () => expect(await refused()).toContain("expired"));
    await atTime(before(end), async () => expect(await refused()).toContain("expired"));
  });

  it("ends also after the entry was validated again because of a commit", async () => {
    const { end, statuses } = await endingAccess();
    await statuses(2);
    await change(api.database);
    await atTime(before(end), async () => expect(await statuses(3)).toEqual([200, 200, 200]));
    await change(api.database);
    await atTime(end, async () => expect(await statuses(2)).toEqual([404, 404]));
  });

  it("ends earlier when another server shortens it", async () => {
    const { statuses, record, end } = await endingAccess();
    const sooner = inMs(60_000);
    await statuses(3);
    await other
      .as(org.owner.token)
      .patch(`/team-projects/${record.id}`, resource("team-projects", { "expires-at": sooner }));
    await atTime(before(sooner), async () => expect(await statuses(3)).toEqual([200, 200, 200]));
    await atTime(sooner, async () => expect(await statuses(2)).toEqual([404, 404]));
    await other
      .as(org.owner.token)
      .patch(`/team-projects/${record.id}`, resource("team-projects", { "expires-at": end }));
    await atTime(sooner, async () => expect(await statuses(2)).toEqual([200, 200]));
  });
});
