/** PATCH /projects/:project_id: what changes, what stays, and what is refused. */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";
import { accepted, expectRefused, refused } from "./limits.ts";

const api = useApi();
let org: Org;
let project: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  project = await api.makeProject(org.name, { description: "before", "auto-destroy-activity-duration": "5d" });
});

const update = (attributes: object | undefined): Promise<Answer> =>
  org.owner.patch(`/projects/${project.id}`, { data: { type: "projects", attributes } });
const shown = async () => data(await org.owner.get(`/projects/${project.id}`));

async function expectKept(answer: Answer, attribute: string, detail: string | RegExp): Promise<void> {
  expectRefused(answer, `/data/attributes/${attribute}`, detail);
  expect(await shown()).toEqual(project);
}

describe("updateProject: a value, null, absent", () => {
  it.each([
    ["name", "Renamed by value"],
    ["description", "after"],
    ["auto-destroy-activity-duration", "36h"],
  ])("%s: a value is set, and the rest stays", async (attribute, value) => {
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...project, attributes: { ...project.attributes, [attribute]: value } });
    expect(await shown()).toEqual(answer.body.data);
  });

  it.each(["description", "auto-destroy-activity-duration"])("%s: null clears it", async (attribute) => {
    expect(project.attributes[attribute]).not.toBeNull();
    const answer = await update({ [attribute]: null });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...project, attributes: { ...project.attributes, [attribute]: null } });
    expect(await shown()).toEqual(answer.body.data);
  });

  it.each([{}, undefined, null])("attributes %j: everything stays", async (attributes) => {
    const answer = await update(attributes as never);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(project);
  });

  it("sets several attributes in one request", async () => {
    const changed = { name: unique("all"), description: null, "auto-destroy-activity-duration": "1h" };
    expect(data(await update(changed)).attributes).toEqual({ ...project.attributes, ...changed });
  });

  it("ignores unknown and read-only attributes", async () => {
    const answer = await update({
      colour: "blue",
      "workspace-count": 4,
      "team-count": 4,
      "created-at": "2001-01-01T00:00:00.000Z",
      permissions: { "can-update": false },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(project);
  });

  it("does not move it to another organization", async () => {
    const other = await api.makeOrganization();
    const relationships = { organization: { data: { type: "organizations", id: other.name } } };
    const answer = await api.admin.patch(`/projects/${project.id}`, resource("projects", {}, relationships));
    expect(answer.status).toBe(200);
    expect(answer.body.data.relationships.organization.data.id).toBe(org.name);
  });
});

describe("updateProject: values", () => {
  it.each(accepted)("takes the %s", async (_, attribute, value) => {
    expect(data(await update({ [attribute]: value })).attributes[attribute]).toBe(value);
    expect((await org.owner.delete(`/projects/${project.id}`)).status).toBe(204);
  });

  it.each(refused)("refuses the %s", async (_, attribute, value, detail) => {
    await expectKept(await update({ [attribute]: value }), attribute, detail);
  });
});

describeOnce("updateProject: 422 for the shape of the body", () => {
  it.each([
    ["no body", undefined, ["/data"]],
    ["no data", {}, ["/data"]],
    ["data an array", { data: [] }, ["/data"]],
    ["no type", { data: { attributes: {} } }, ["/data/type"]],
    ["another type", { data: { type: "teams", attributes: {} } }, ["/data/type"]],
    ["attributes an array", { data: { type: "projects", attributes: [] } }, ["/data/attributes"]],
    ["relationships an array", { data: { type: "projects", relationships: [] } }, ["/data/relationships"]],
  ])("%s", async (_, body, where) => {
    const answer = await org.owner.patch(`/projects/${project.id}`, body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(where);
    expect(await shown()).toEqual(project);
  });

  it("reports all faults in one response, and changes nothing", async () => {
    const answer = await org.owner.patch(
      `/projects/${project.id}`,
      resource("teams", { name: "no", description: "fine", "auto-destroy-activity-duration": "0d" }),
    );
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([
      "/data/type",
      "/data/attributes/name",
      "/data/attributes/auto-destroy-activity-duration",
    ]);
    expect(await shown()).toEqual(project);
  });
});

describe("updateProject: names that are taken", () => {
  it("refuses another project's name, in any case", async () => {
    const other = (await api.makeProject(org.name, { name: unique("Other") })).attributes.name;
    for (const name of [other, other.toUpperCase(), other.toLowerCase(), "DEFAULT project"]) {
      await expectKept(await update({ name }), "name", "Name has already been taken");
    }
  });

  it("lets a project have its own name, in another case too", async () => {
    const { name } = project.attributes;
    expect((await update({ name })).status).toBe(200);
    expect(data(await update({ name: name.toUpperCase() })).attributes.name).toBe(name.toUpperCase());
    expect((await shown()).attributes.name).toBe(name.toUpperCase());
  });

  it("frees the old name, and keeps the new one", async () => {
    const renamed = unique("renamed");
    await update({ name: renamed });
    const again = (name: string) =>
      org.owner.post(`/organizations/${org.name}/projects`, resource("projects", { name }));
    expect((await again(project.attributes.name)).status).toBe(201);
    expect(details(await again(renamed.toUpperCase()))).toEqual(["Name has already been taken"]);
  });

  it("gives a name to only one of two concurrent requests", async () => {
    const name = unique("Race");
    const rivals = await Promise.all(Array.from({ length: 6 }, () => api.makeProject(org.name)));
    const answers = await Promise.all(
      rivals.map(({ id }) => org.owner.patch(`/projects/${id}`, resource("projects", { name }))),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array<number>(5).fill(422)]);
  });
});

describe("updateProject: keeps concurrent changes", () => {
  it("shows the counts in its answer", async () => {
    const team = await api.makeTeam(org.name);
    await api.grantProject(project.id, team.id, "read");
    await api.database.write((tx) =>
      tx.db.updateTable("projects").set({ workspaceCount: 3 }).where("id", "=", project.id).execute(),
    );
    expect(data(await update({ description: "counted" })).attributes).toMatchObject({
      "workspace-count": 3,
      "team-count": 1,
    });
    expect((await org.owner.delete(`/teams/${team.id}`)).status).toBe(204);
    expect((await shown()).attributes).toMatchObject({ "workspace-count": 3, "team-count": 0 });
  });

  it("loses none of many concurrent changes", async () => {
    const answers = await Promise.all([
      update({ name: "Changed together" }),
      update({ description: "together" }),
      update({ "auto-destroy-activity-duration": "77h" }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
    expect((await shown()).attributes).toMatchObject({
      name: "Changed together",
      description: "together",
      "auto-destroy-activity-duration": "77h",
    });
  });

  it("waits for a new workspace in the project, which does not wait for it", async () => {
    const isPostgres = api.database.dialect.name === "postgres";
    let renamed: Promise<Answer> | undefined;
    await api.database.write(async (tx) => {
      // As while a workspace is created: first a reference to the project, at the end its counter.
      const row = tx.db.selectFrom("projects as p").select("p.id").where("p.id", "=", project.id);
      await row.modifyEnd(tx.dialect.lockRows("p", "reference")).execute();
      renamed = update({ name: "Renamed meanwhile" });
      await sleep(200);
      if (isPostgres) await sql`set local lock_timeout = '500ms'`.execute(tx.db);
      await tx.db.updateTable("projects").set({ workspaceCount: 1 }).where("id", "=", project.id).execute();
    });
    expect(data((await renamed) as Answer).attributes).toMatchObject({
      name: "Renamed meanwhile",
      "workspace-count": 1,
    });
  });
});
