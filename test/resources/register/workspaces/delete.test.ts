/** Safe delete and force delete of a workspace: obstacles, permissions, and what is deleted with it. */
import { sql } from "kysely";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newId } from "../../../../src/kernel/ids.ts";
import { now } from "../../../../src/kernel/time.ts";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, resource } from "../../../support/builders.ts";
import { bothPaths, bound, makeAgentPool, pathById, pathByName, setColumns, tagged } from "./support.ts";

const api = useApi();
let org: Org;
let projectId: string;
let workspace: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  projectId = (await api.makeProject(org.name)).id;
  workspace = await api.makeWorkspace(org.name, {}, inProject(projectId));
});

const isThere = async () => (await api.admin.get(pathById(workspace))).status === 200;
const count = async () => data(await api.admin.get(`/projects/${projectId}`)).attributes["workspace-count"];
const admin = async (organization: Org, target: Json) => {
  const team = await api.makeTeam(organization.name);
  await api.grantWorkspace(target.id, team.id, "admin");
  return api.makeMember(organization.name, [team.id]);
};

describe.each(bothPaths)("safeDeleteWorkspace %s", (_, pathOf) => {
  const remove = (caller: Caller): Promise<Answer> => caller.post(`${pathOf(workspace)}/actions/safe-delete`);

  it("204 without a body if nothing is managed; the project's counter goes down", async () => {
    expect(await count()).toBe(1);
    const answer = await remove(org.owner);
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    for (const path of [pathById(workspace), pathByName(workspace)])
      expect((await org.owner.get(path)).status).toBe(404);
    expect(await count()).toBe(0);
    expect((await remove(org.owner)).status).toBe(404);
    expect(await count()).toBe(0);
  });

  it("409 where resources are managed", async () => {
    await setColumns(api, workspace.id, { resourceCount: 3 });
    const answer = await remove(org.owner);
    expect(answer.status).toBe(409);
    expect(answer.body.errors).toEqual([
      { status: "409", title: "conflict", detail: expect.stringContaining("3 resources") },
    ]);
    expect(details(answer)[0]).not.toContain("locked");
    expect(details(answer)[0]).not.toContain("being processed");
    expect([await isThere(), await count()]).toEqual([true, 1]);
  });

  it("409 where it is locked, even by the caller, and with resources too", async () => {
    data(await org.owner.post(`${pathById(workspace)}/actions/lock`));
    for (const resourceCount of [0, 3]) {
      await setColumns(api, workspace.id, { resourceCount });
      const answer = await remove(org.owner);
      expect(answer.status).toBe(409);
      expect(details(answer)[0]).toContain("locked");
    }
    expect(await isThere()).toBe(true);
    await setColumns(api, workspace.id, { resourceCount: 0 });
    data(await org.owner.post(`${pathById(workspace)}/actions/unlock`));
    expect((await remove(org.owner)).status).toBe(204);
  });

  it("404 before 409 for callers without the permission", async () => {
    await setColumns(api, workspace.id, { resourceCount: 3 });
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, "write");
    expect((await remove(await api.makeMember(org.name, [team.id]))).status).toBe(404);
  });

  it("ignores a body", async () => {
    const answer = await org.owner.post(`${pathOf(workspace)}/actions/safe-delete`, { data: { type: "x" } });
    expect(answer.status).toBe(204);
  });
});

describe.each(bothPaths)("deleteWorkspace %s", (_, pathOf) => {
  it("204 even if it manages resources or is locked; the project's counter goes down", async () => {
    await setColumns(api, workspace.id, { resourceCount: 99 });
    data(await api.admin.post(`${pathById(workspace)}/actions/lock`));
    const answer = await org.owner.delete(pathOf(workspace));
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    expect([await isThere(), await count()]).toEqual([false, 0]);
    expect((await org.owner.delete(pathOf(workspace))).status).toBe(404);
  });

  it("403 for a workspace admin, naming what is missing; 204 where the organization allows it", async () => {
    const person = await admin(org, workspace);
    const refused = await person.delete(pathOf(workspace));
    expect(refused.status).toBe(403);
    expect(refused.body.errors[0]).toMatchObject({ status: "403", title: "forbidden" });
    expect(details(refused)[0]).toContain("(can-force-delete)");
    expect(await isThere()).toBe(true);

    const generous = await api.makeOrganization();
    const theirs = await api.makeWorkspace(generous.name);
    const theirAdmin = await admin(generous, theirs);
    expect((await theirAdmin.delete(pathOf(theirs))).status).toBe(403);
    const allow = resource("organizations", { "allow-force-delete-workspaces": true });
    data(await generous.owner.patch(`/organizations/${generous.name}`, allow));
    expect((await theirAdmin.delete(pathOf(theirs))).status).toBe(204);
  });

  it("with that setting, still 403 for callers who are not admins of it", async () => {
    const generous = await api.makeOrganization({ "allow-force-delete-workspaces": true });
    const theirs = await api.makeWorkspace(generous.name);
    const team = await api.makeTeam(generous.name);
    await api.grantWorkspace(theirs.id, team.id, "write");
    const writer = await api.makeMember(generous.name, [team.id]);
    expect((await writer.delete(pathOf(theirs))).status).toBe(403);
    expect((await (await api.makeMember(generous.name)).delete(pathOf(theirs))).status).toBe(404);
  });

  it("frees the name", async () => {
    data(await org.owner.delete(pathOf(workspace)));
    const again = await api.makeWorkspace(org.name, { name: workspace.attributes.name });
    expect(again.id).not.toBe(workspace.id);
  });

  it("is no longer found", async () => {
    data(await org.owner.delete(pathOf(workspace)));
    const query = `/organizations/${org.name}/workspaces?search[name]=${workspace.attributes.name}`;
    expect(data(await org.owner.get(query))).toEqual([]);
  });
});

describe("what is deleted with it", () => {
  const tables = [
    ["team_workspaces", "workspace_id"],
    ["remote_state_consumers", "workspace_id"],
    ["remote_state_consumers", "consumer_id"],
    ["workspace_tags", "workspace_id"],
    ["tag_bindings", "workspace_id"],
    ["data_retention_policies", "workspace_id"],
    ["agent_pool_scopes", "target_id"],
    ["workspaces", "id"],
  ] as const;
  const rowsOf = async (id: string) =>
    Promise.all(
      tables.map(async ([table, column]) => {
        const found = await sql<{ count: number }>`
          select count(*) as count from ${sql.table(table)} where ${sql.ref(column)} = ${id}`.execute(
          api.database.reader.db,
        );
        return `${table}.${column}: ${Number(found.rows[0]?.count)}`;
      }),
    );
  const each = (count: number) => tables.map(([table, column]) => `${table}.${column}: ${count}`);

  async function furnish(relationships: object = {}): Promise<Json> {
    const own = await api.makeWorkspace(
      org.name,
      {},
      { ...tagged("shared", "lonely"), ...bound({ env: "prod" }), ...relationships },
    );
    await admin(org, own);
    const link = (id: string) => ({ data: [{ type: "workspaces", id }] });
    const consumers = (id: string) => `/workspaces/${id}/relationships/remote-state-consumers`;
    data(await org.owner.post(consumers(own.id), link(workspace.id)));
    data(await org.owner.post(consumers(workspace.id), link(own.id)));
    const poolId = await makeAgentPool(api, org.name);
    await api.database.write(async (tx) => {
      await tx.db
        .insertInto("dataRetentionPolicies")
        .values({
          id: newId("data-retention-policies"),
          organizationId: org.id,
          workspaceId: own.id,
          kind: "data-retention-policy-dont-deletes",
          deleteOlderThanNDays: null,
          createdAt: now(),
          version: 1,
        })
        .execute();
      await tx.db
        .insertInto("agentPoolScopes")
        .values({ organizationId: org.id, agentPoolId: poolId, kind: "allowed-workspaces", targetId: own.id })
        .execute();
    });
    return own;
  }

  it.each<[string, (path: string) => Promise<Answer>]>([
    ["deleteWorkspace", (path) => org.owner.delete(path)],
    ["safeDeleteWorkspace", (path) => org.owner.post(`${path}/actions/safe-delete`)],
  ])("%s: everything of the workspace, and nothing else", async (_, remove) => {
    const other = await api.makeWorkspace(org.name, {}, { ...tagged("shared"), ...bound({ env: "prod" }) });
    const own = await furnish();
    const oneOfEach = each(1).map((line) =>
      line.replace("workspace_tags.workspace_id: 1", "workspace_tags.workspace_id: 2"),
    );
    expect(await rowsOf(own.id)).toEqual(oneOfEach);
    expect((await remove(pathById(own))).status).toBe(204);
    expect(await rowsOf(own.id)).toEqual(each(0));
    expect(data(await org.owner.get(pathById(other)))).toEqual(other);
    const tags = data(await org.owner.get(`/organizations/${org.name}/tags?page[size]=100`));
    const counts = tags.map(({ attributes }: Json) => [attributes.name, attributes["instance-count"]]);
    expect(counts).toEqual([["shared", 1]]);
    data(await org.owner.delete(pathById(other)));
  });
});

describe("concurrent deletions", () => {
  it("of many deletions one succeeds, and the counter goes down once", async () => {
    await api.makeWorkspace(org.name, {}, inProject(projectId));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        number % 2 === 0
          ? org.owner.delete(pathById(workspace))
          : org.owner.post(`${pathByName(workspace)}/actions/safe-delete`),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array.from({ length: 7 }, () => 404)]);
    expect(await count()).toBe(1);
  });

  it("an emptied project can be deleted, one with a workspace can't", async () => {
    expect((await org.owner.delete(`/projects/${projectId}`)).status).toBe(409);
    data(await org.owner.delete(pathById(workspace)));
    expect((await org.owner.delete(`/projects/${projectId}`)).status).toBe(204);
  });
});
