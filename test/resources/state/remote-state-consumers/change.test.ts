/**
 * Reading and changing the consumers of a workspace's state. Callers without the permission get 404, because the
 * specification lists no 403.
 */
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { newId } from "../../../../src/kernel/ids.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { change } from "../../../support/database.ts";
import { consumersOf, consumersPath, link, makeSharing, statuses, auditedConsumers, auditEventsOf } from "./support.ts";

const api = useApi();

describe("adding", () => {
  it("204: present ones are skipped, the rest is added; whole documents allowed, each once", async () => {
    const { org, shared, others } = await makeSharing(api);
    const [first, second, third] = others;
    const one = await org.owner.post(consumersPath(shared), link(first));
    expect([one.status, one.body]).toEqual([204, undefined]);
    const body = { data: [first, second, second, { ...third, attributes: { name: "ignored" } }] };
    expect((await org.owner.post(consumersPath(shared), body)).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual(others.map(({ id }) => id));
    expect(await auditEventsOf(org, shared)).toEqual([
      ["workspaces.add-remote-state-consumers", auditedConsumers(), auditedConsumers(second, third)],
      ["workspaces.add-remote-state-consumers", auditedConsumers(), auditedConsumers(first)],
    ]);
  });

  it("204: a request without changes records no event; the workspace's version never changes", async () => {
    const { org, shared, others } = await makeSharing(api);
    const etag = (await org.owner.get(`/workspaces/${shared.id}`)).headers.get("etag");
    await org.owner.post(consumersPath(shared), link(...others));
    await org.owner.post(consumersPath(shared), link(...others));
    await org.owner.post(consumersPath(shared), link());
    expect(await auditEventsOf(org, shared)).toHaveLength(1);
    expect((await org.owner.get(`/workspaces/${shared.id}`)).headers.get("etag")).toBe(etag);
  });

  it("422: every invalid one is listed, and nothing is added", async () => {
    const { org, shared, others } = await makeSharing(api);
    const elsewhere = await api.makeWorkspace((await api.makeOrganization()).name);
    const unknown = { id: newId("workspaces") };
    const answer = await api.admin.post(consumersPath(shared), link(others[0], elsewhere, shared, unknown));
    expect(answer.status).toBe(422);
    const missing = (id: string) =>
      `Workspace '${id}' does not exist in this organization, or you don't have access to it`;
    expect(answer.body.errors.map((error: { source: object; detail: string }) => [error.source, error.detail])).toEqual(
      [
        [{ pointer: "/data/2/id" }, "A workspace can't be a consumer of its own state"],
        [{ pointer: "/data/1/id" }, missing(elsewhere.id)],
        [{ pointer: "/data/3/id" }, missing(unknown.id)],
      ],
    );
    expect(await consumersOf(org.owner, shared)).toEqual([]);
    expect(await auditEventsOf(org, shared)).toEqual([]);
  });

  it("204: concurrent callers who add the same workspaces", async () => {
    const { org, shared, others } = await makeSharing(api);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => org.owner.post(consumersPath(shared), link(...others))),
    );
    expect(new Set(statuses(answers))).toEqual(new Set([204]));
    expect(await consumersOf(org.owner, shared)).toHaveLength(3);
    expect(await auditEventsOf(org, shared)).toHaveLength(1);
  });

  it("204: workspaces that add each other concurrently", async () => {
    const { org, others } = await makeSharing(api);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        others.map((workspace) =>
          org.owner.post(consumersPath(workspace), link(...others.filter((other) => other !== workspace))),
        ),
      );
      expect(statuses(answers)).toEqual([204, 204, 204]);
      await Promise.all(others.map((workspace) => org.owner.patch(consumersPath(workspace), link())));
    }
  });
});

describe("removing", () => {
  it("204: absent ones are skipped, the workspace itself among them", async () => {
    const { org, shared, others } = await makeSharing(api);
    const [first, second, third] = others;
    await org.owner.post(consumersPath(shared), link(first, second));
    const answer = await org.owner.delete(consumersPath(shared), link(third, second, shared));
    expect([answer.status, answer.body]).toEqual([204, undefined]);
    expect((await org.owner.delete(consumersPath(shared), link(second))).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([first.id]);
    expect((await auditEventsOf(org, shared)).slice(0, -1)).toEqual([
      ["workspaces.remove-remote-state-consumers", auditedConsumers(second), auditedConsumers()],
    ]);
  });

  it("422: one that does not exist, or that the caller can't read; nothing is removed", async () => {
    const { org, shared, others } = await makeSharing(api, 2);
    const [first, hidden] = others;
    await org.owner.post(consumersPath(shared), link(first, hidden));
    const team = await api.makeTeam(org.name);
    const admin = await api.makeMember(org.name, [team.id]);
    await api.grantWorkspace(shared.id, team.id, "admin");
    await api.grantWorkspace(first.id, team.id, "read");
    for (const method of ["POST", "DELETE"]) {
      const answer = await admin.send(method, consumersPath(shared), link(first, hidden));
      expect([answer.status, pointers(answer), details(answer)]).toEqual([
        422,
        ["/data/1/id"],
        [`Workspace '${hidden.id}' does not exist in this organization, or you don't have access to it`],
      ]);
    }
    expect(await consumersOf(org.owner, shared)).toHaveLength(2);
    expect((await admin.delete(consumersPath(shared), link(first))).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([hidden.id]);
  });
});

describe("replacing", () => {
  it("204: exactly what is sent, and an empty list clears it", async () => {
    const { org, shared, others } = await makeSharing(api);
    const [first, second, third] = others;
    await org.owner.post(consumersPath(shared), link(first, second));
    expect((await org.owner.patch(consumersPath(shared), link(third, second))).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([second.id, third.id]);
    expect((await org.owner.patch(consumersPath(shared), link(second, third))).status).toBe(204);
    expect((await org.owner.patch(consumersPath(shared), link())).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([]);
    expect((await auditEventsOf(org, shared)).slice(0, -1)).toEqual([
      ["workspaces.replace-remote-state-consumers", auditedConsumers(second, third), auditedConsumers()],
      ["workspaces.replace-remote-state-consumers", auditedConsumers(first), auditedConsumers(third)],
    ]);
  });

  it("422: an invalid one leaves the list as it is", async () => {
    const { org, shared, others } = await makeSharing(api, 2);
    await org.owner.post(consumersPath(shared), link(others[0]));
    const answer = await org.owner.patch(consumersPath(shared), link(others[1], shared));
    expect([answer.status, details(answer), pointers(answer)]).toEqual([
      422,
      ["A workspace can't be a consumer of its own state"],
      ["/data/1/id"],
    ]);
    expect(await consumersOf(org.owner, shared)).toEqual([others[0].id]);
  });
});

describe("an If-Match of a workspace that shows others' changes", () => {
  it("matches only the ETag of its current document", async () => {
    const { org, shared, others } = await makeSharing(api, 1);
    const etagOf = async () => (await org.owner.get(`/workspaces/${shared.id}`)).headers.get("etag") ?? "";
    const before = await etagOf();
    const renamed = resource("organizations", { name: unique("renamed") });
    data(await org.owner.patch(`/organizations/${org.name}`, renamed));
    for (const [etag, status] of [
      [before, 412],
      [await etagOf(), 204],
    ] as const) {
      const answer = await org.owner.send("PATCH", consumersPath(shared), link(others[0]), { "if-match": etag });
      expect(answer.status).toBe(status);
    }
  });
});

describe("any change", () => {
  const methods = ["POST", "PATCH", "DELETE"];

  it.each(methods)("%s 422: while the state is shared with the whole organization", async (method) => {
    const { org, shared, others } = await makeSharing(api, 1);
    const body = resource("workspaces", { "global-remote-state": true });
    data(await org.owner.patch(`/workspaces/${shared.id}`, body));
    const answer = await org.owner.send(method, consumersPath(shared), link(others[0]));
    expect([answer.status, details(answer), pointers(answer)]).toEqual([
      422,
      [
        "Remote state consumers can't be changed while global-remote-state is true, because every workspace of the organization can read the state. Set it to false first",
      ],
      ["/data"],
    ]);
  });

  it.each(methods)("%s 422: a body of the wrong shape", async (method) => {
    const { org, shared } = await makeSharing(api, 0);
    const send = (body: unknown) => org.owner.send(method, consumersPath(shared), body);
    expect(details(await send({ data: { type: "workspaces", id: "ws-1" } }))).toEqual([
      "The request body must have a member 'data' that is an array of resource identifiers",
    ]);
    const item = `Each item must be {"type": "workspaces", "id": …}`;
    const wrong = await send({ data: [{ type: "projects", id: "prj-1" }, { type: "workspaces" }] });
    expect([wrong.status, details(wrong), pointers(wrong)]).toEqual([422, [item, item], ["/data/0", "/data/1"]]);
    const many = Array.from({ length: 1001 }, () => ({ type: "workspaces", id: "ws-1" }));
    expect(details(await send({ data: many }))).toEqual(["At most 1000 can be named in one request; this names 1001"]);
  });
});

describe("listing consumers", () => {
  it("200: whole workspace documents, by name, in pages of 20", async () => {
    const { org, shared, others } = await makeSharing(api, 23);
    await org.owner.post(consumersPath(shared), link(...others.toReversed()));
    const first = await org.owner.get(consumersPath(shared));
    expect(first.status).toBe(200);
    expect(first.body.data).toHaveLength(20);
    expect(first.body.data[0]).toEqual(data(await org.owner.get(`/workspaces/${others[0].id}`)));
    expect(first.body.meta.pagination).toMatchObject({ "total-count": 23, "total-pages": 2, "next-page": 2 });
    const second = await org.owner.get(`${consumersPath(shared)}?page[number]=2`);
    const ids = [...first.body.data, ...second.body.data].map((item: Json) => item.id);
    expect(ids).toEqual(others.map(({ id }) => id));
    const past = await org.owner.get(`${consumersPath(shared)}?page[number]=7`);
    expect([past.body.data, past.body.meta.pagination["total-count"]]).toEqual([[], 23]);
    expect((await org.owner.get(`${consumersPath(shared)}?page[size]=x`)).status).toBe(400);
  });

  it("200: none, until some are added; sharing works in one direction only", async () => {
    const { org, shared, others } = await makeSharing(api, 1);
    expect(await consumersOf(org.owner, shared)).toEqual([]);
    await org.owner.post(consumersPath(shared), link(others[0]));
    expect(await consumersOf(org.owner, others[0])).toEqual([]);
  });

  it("200: without those that the caller can't read, whatever its access", async () => {
    const { org, shared, others } = await makeSharing(api, 2);
    const project = await api.makeProject(org.name);
    const inIt = await api.makeWorkspace(org.name, { name: "in-project" }, inProject(project.id));
    await org.owner.post(consumersPath(shared), link(...others, inIt));
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    expect((await member.get(consumersPath(shared))).status).toBe(404);
    await api.grantWorkspace(shared.id, team.id, "read");
    expect(await consumersOf(member, shared)).toEqual([]);
    await api.grantWorkspace(others[1].id, team.id, "read");
    await api.grantProject(project.id, team.id, "read");
    const answer = await member.get(consumersPath(shared));
    expect(answer.body.data.map((item: Json) => item.id)).toEqual([others[1].id, inIt.id]);
    expect(answer.body.meta.pagination["total-count"]).toBe(2);
    const reader = await api.makeHolder(org.name, "read-workspaces");
    expect(await consumersOf(reader, shared)).toHaveLength(3);
  });

  it("200: with global-remote-state, every other workspace that the caller can read; the stored list is kept", async () => {
    const { org, shared, others } = await makeSharing(api);
    const share = (value: boolean) =>
      org.owner.patch(`/workspaces/${shared.id}`, resource("workspaces", { "global-remote-state": value }));
    await org.owner.post(consumersPath(shared), link(others[0]));
    data(await share(true));
    expect(await consumersOf(org.owner, shared)).toEqual(others.map(({ id }) => id));
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    await api.grantWorkspace(shared.id, team.id, "read");
    await api.grantWorkspace(others[2].id, team.id, "read");
    expect(await consumersOf(member, shared)).toEqual([others[2].id]);
    data(await share(false));
    expect(await consumersOf(org.owner, shared)).toEqual([others[0].id]);
  });

  it("a workspace that is deleted is no longer a consumer", async () => {
    const { org, shared, others } = await makeSharing(api, 2);
    await org.owner.post(consumersPath(shared), link(...others));
    expect((await org.owner.delete(`/workspaces/${others[0].id}`)).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([others[1].id]);
  });
});

describe("thousands of consumers", () => {
  it("need no more statements, also 1,000 in one request", async () => {
    const { org, shared, others } = await makeSharing(api, 1);
    const many = await copies(others[0].id, 1500);
    const counted = async (status: number, request: () => Promise<{ status: number }>): Promise<number> => {
      await change(api.database);
      const before = api.database.statementCount();
      expect((await request()).status).toBe(status);
      return api.database.statementCount() - before;
    };
    const path = consumersPath(shared);
    const name = (from: number, to: number) => ({
      data: many.slice(from, to).map((id) => ({ type: "workspaces", id })),
    });
    expect(await counted(204, () => org.owner.post(path, name(0, 1000)))).toBe(5);
    expect(await counted(204, () => org.owner.post(path, name(1000, 1500)))).toBe(5);
    expect(await counted(200, () => org.owner.get(`${path}?page[size]=100`))).toBe(3);
    const page = await org.owner.get(`${path}?page[number]=15&page[size]=100`);
    expect([page.body.data.length, page.body.meta.pagination["total-count"]]).toEqual([100, 1500]);
    expect(await counted(204, () => org.owner.delete(path, name(1100, 1500)))).toBe(5);
    expect(await counted(204, () => org.owner.patch(path, name(500, 1500)))).toBe(6);
    expect((await org.owner.get(consumersPath(shared))).body.meta.pagination["total-count"]).toBe(1000);
  });

  /** Rows like this one, under other names. */
  async function copies(id: string, count: number): Promise<string[]> {
    const ids: string[] = [];
    await api.database.write(async (tx) => {
      const row = await tx.db.selectFrom("workspaces").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
      const rows = Array.from({ length: count }, (_, index) => {
        const name = `copy-${String(index).padStart(5, "0")}`;
        return { ...row, id: `ws-copy${String(index).padStart(12, "0")}`, name, nameKey: name };
      });
      for (let from = 0; from < count; from += 250) {
        await tx.db
          .insertInto("workspaces")
          .values(rows.slice(from, from + 250))
          .execute();
      }
      await sql`update projects set workspace_count = workspace_count + ${count} where id = ${row.projectId}`.execute(
        tx.db,
      );
      ids.push(...rows.map((copy) => copy.id));
    });
    return ids;
  }
});

type MakeCaller = (org: Org, shared: Json, other: Json) => Promise<Caller>;

const onWorkspace =
  (level: "read" | "plan" | "write" | "admin"): MakeCaller =>
  async (org, shared, other) => {
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(shared.id, team.id, level);
    await api.grantWorkspace(other.id, team.id, "read");
    return api.makeMember(org.name, [team.id]);
  };

const onProject =
  (level: "read" | "write" | "maintain" | "admin"): MakeCaller =>
  async (org) => {
    const team = await api.makeTeam(org.name);
    await api.grantProject(org.defaultProjectId, team.id, level);
    return api.makeTeamToken(team.id);
  };

const holding =
  (...permissions: string[]): MakeCaller =>
  (org) =>
    api.makeHolder(org.name, ...permissions);

const everything = [200, 204, 204, 204];
const admin = [200, 204, 404, 204];
const reader = [200, 404, 404, 404];
const nobody = [404, 404, 404, 404];

/** GET, POST, PATCH, DELETE. */
const cases: [string, MakeCaller, number[]][] = [
  ["a site admin", async () => api.admin, everything],
  ["an owner", async (org) => org.owner, everything],
  ["the owners team's token", (org) => api.makeTeamToken(org.ownersTeamId), everything],
  ["the organization's token", (org) => api.makeOrganizationToken(org.name), everything],
  ["manage-workspaces", holding("manage-workspaces"), everything],
  ["manage-projects", holding("manage-projects"), admin],
  ["read-workspaces", holding("read-workspaces"), reader],
  ["read-projects", holding("read-projects"), reader],
  ["project admin", onProject("admin"), admin],
  ["project maintain", onProject("maintain"), admin],
  ["project write", onProject("write"), reader],
  ["project read", onProject("read"), reader],
  ["workspace admin", onWorkspace("admin"), admin],
  ["workspace write", onWorkspace("write"), reader],
  ["workspace plan", onWorkspace("plan"), reader],
  ["workspace read", onWorkspace("read"), reader],
  ["a member without a grant", (org) => api.makeMember(org.name), nobody],
  ["another organization's owner", async () => (await api.makeOrganization()).owner, nobody],
  ["another organization's token", async () => api.makeOrganizationToken((await api.makeOrganization()).name), nobody],
];

describe("GET, POST, PATCH and DELETE answer", () => {
  it.each(cases)("%s", async (_, makeCaller, expected) => {
    const { org, shared, others } = await makeSharing(api, 1);
    const caller = await makeCaller(org, shared, others[0]);
    const found: number[] = [];
    for (const method of ["GET", "POST", "PATCH", "DELETE"]) {
      const body = method === "GET" ? undefined : link(others[0]);
      found.push((await caller.send(method, consumersPath(shared), body)).status);
    }
    expect(found).toEqual(expected);
  });
});
