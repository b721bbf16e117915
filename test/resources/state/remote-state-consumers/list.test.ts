import { change } from "../../../support/database.ts";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  grantProject,
  grantWorkspace,
  inProject,
  makeHolder,
  makeMember,
  makeProject,
  makeTeam,
  makeWorkspace,
  resource,
} from "../../../support/builders.ts";
import { consumersOf, consumersPath, link, makeSharing } from "./support.ts";

const api = useApi();

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

  it("200: none, until some are added; never the other way round", async () => {
    const { org, shared, others } = await makeSharing(api, 1);
    expect(await consumersOf(org.owner, shared)).toEqual([]);
    await org.owner.post(consumersPath(shared), link(others[0]));
    expect(await consumersOf(org.owner, others[0])).toEqual([]);
  });

  it("200: without those that the caller can't read, whichever way it reads", async () => {
    const { org, shared, others } = await makeSharing(api, 2);
    const project = await makeProject(api, org.name);
    const inIt = await makeWorkspace(api, org.name, { name: "in-project" }, inProject(project.id));
    await org.owner.post(consumersPath(shared), link(...others, inIt));
    const team = await makeTeam(api, org.name);
    const member = await makeMember(api, org.name, [team.id]);
    expect((await member.get(consumersPath(shared))).status).toBe(404);
    await grantWorkspace(api, org.id, shared.id, team.id, "read");
    expect(await consumersOf(member, shared)).toEqual([]);
    await grantWorkspace(api, org.id, others[1].id, team.id, "read");
    await grantProject(api, org.id, project.id, team.id, "read");
    const answer = await member.get(consumersPath(shared));
    expect(answer.body.data.map((item: Json) => item.id)).toEqual([others[1].id, inIt.id]);
    expect(answer.body.meta.pagination["total-count"]).toBe(2);
    const reader = await makeHolder(api, org.name, "read-workspaces");
    expect(await consumersOf(reader, shared)).toHaveLength(3);
  });

  it("200: with global-remote-state, every other workspace that the caller reads; the list itself is kept", async () => {
    const { org, shared, others } = await makeSharing(api);
    const share = (value: boolean) =>
      org.owner.patch(`/workspaces/${shared.id}`, resource("workspaces", { "global-remote-state": value }));
    await org.owner.post(consumersPath(shared), link(others[0]));
    data(await share(true));
    expect(await consumersOf(org.owner, shared)).toEqual(others.map(({ id }) => id));
    const team = await makeTeam(api, org.name);
    const member = await makeMember(api, org.name, [team.id]);
    await grantWorkspace(api, org.id, shared.id, team.id, "read");
    await grantWorkspace(api, org.id, others[2].id, team.id, "read");
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
  it("need no more statements, and 1,000 in one request neither", async () => {
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
