/** updateVarset and deleteVarset over HTTP: a value, null and absent for each attribute; lists; If-Match; audit events. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, inProject, makeOrganization, makeProject, makeWorkspace, unique } from "../../../support/builders.ts";
import { addVar, expectRefused, globalSentence, kinds, linkage, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

describe("updateVarset, a value: changes only this attribute, and the version", () => {
  it.each([
    ["name", unique("renamed")],
    ["description", "What for"],
    ["global", true],
    ["priority", true],
  ])("%s", async (attribute, value) => {
    const before = await stage.etag();
    const answer = await stage.update({ [attribute]: value });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      ...stage.set,
      attributes: {
        ...stage.set.attributes,
        [attribute]: value,
        "updated-at": answer.body.data.attributes["updated-at"],
      },
    });
    expect(answer.headers.get("etag")).not.toBe(before);
    expect(answer.headers.get("etag")).toBe(await stage.etag());
    expect(data(await stage.show())).toEqual(answer.body.data);
  });

  it("a name that differs only in case", async () => {
    const name = stage.set.attributes.name.toUpperCase();
    expect(data(await stage.update({ name })).attributes.name).toBe(name);
  });
});

describe("updateVarset, null", () => {
  it("description: empties it", async () => {
    await stage.update({ description: "What for" });
    expect(data(await stage.update({ description: null })).attributes.description).toBe("");
  });

  it.each([
    ["name", "Name must be a string"],
    ["global", "Global must be true or false"],
    ["priority", "Priority must be true or false"],
  ])("%s: is refused", async (attribute, detail) => {
    expectRefused(await stage.update({ [attribute]: null }), `/data/attributes/${attribute}`, detail);
  });
});

describe("updateVarset, absent or the same: writes nothing", () => {
  it("for attributes that were read and sent back", async () => {
    await stage.add("workspaces", stage.workspaces);
    const [before, etag] = [data(await stage.show()), await stage.etag()];
    const all = { data: before };
    for (const body of [{ data: { type: "varsets" } }, all]) {
      const answer = await stage.org.owner.patch(stage.at, body);
      expect(data(answer)).toEqual(before);
      expect(answer.headers.get("etag")).toBe(etag);
    }
    expect(await stage.events()).toHaveLength(2);
  });
});

describe("updateVarset, lists", () => {
  it.each(kinds)("%s: a list replaces the previous one, an absent list stays", async (kind) => {
    const [one, two] = stage.two(kind);
    const steps: [object, string[]][] = [
      [{ [kind]: linkage(kind, [one]) }, [one]],
      [{ [kind]: linkage(kind, [two, one, two]) }, [one, two]],
      [{}, [one, two]],
      [{ [kind]: linkage(kind, [two]) }, [two]],
      [{ [kind]: linkage(kind, []) }, []],
    ];
    for (const [relationships, expected] of steps) {
      const answer = await stage.update({}, relationships);
      expect(answer.body.data.relationships[kind]).toEqual(linkage(kind, expected));
      expect(data(await stage.show())).toEqual(answer.body.data);
      expect(answer.headers.get("etag")).toBe(await stage.etag());
    }
  });

  it("one of concurrent updates is stored as a whole", async () => {
    const lists = [...stage.workspaces.map((id) => [id]), stage.workspaces.toSorted(), []];
    const sent = [...lists, ...lists].map((ids) => stage.update({}, { workspaces: linkage("workspaces", ids) }));
    for (const answer of await Promise.all(sent)) expect(answer.status).toBe(200);
    expect(lists).toContainEqual(await stage.linked("workspaces"));
    expect(data(await stage.show()).attributes["workspace-count"]).toBe((await stage.linked("workspaces")).length);
  });

  it("include: shows what was just applied", async () => {
    const body = { data: { type: "varsets", relationships: { workspaces: linkage("workspaces", stage.workspaces) } } };
    const answer = await stage.org.owner.patch(`${stage.at}?include=workspaces`, body);
    expect(answer.body.included.map(({ id }: { id: string }) => id).sort()).toEqual(stage.workspaces.toSorted());
  });

  it("a set that becomes global loses them, and the audit log records which", async () => {
    const [workspace] = stage.two("workspaces");
    const [project] = stage.two("projects");
    await stage.add("workspaces", [workspace]);
    await stage.add("projects", [project]);
    const { relationships, attributes } = data(await stage.update({ global: true }));
    expect(relationships).toMatchObject({ workspaces: { data: [] }, projects: { data: [] } });
    expect(attributes).toMatchObject({ "workspace-count": 0, "project-count": 0 });
    const event = (await stage.events()).at(-1)?.attributes;
    expect(event.before).toMatchObject({ global: false, workspaces: [workspace], projects: [project] });
    expect(event.after).toMatchObject({ global: true, workspaces: [], projects: [] });
    expect(data(await stage.update({ global: false })).relationships.workspaces.data).toEqual([]);
  });
});

describe("updateVarset answers 422", () => {
  it("for a name that another set has", async () => {
    const { name } = data(await stage.create()).attributes;
    expectRefused(await stage.update({ name }), "/data/attributes/name", "Name has already been taken");
  });

  it.each(kinds)("for %s of a set that is global, and changes nothing", async (kind) => {
    const relationships = { [kind]: linkage(kind, stage.two(kind)) };
    const pointer = `/data/relationships/${kind}`;
    expectRefused(await stage.update({ global: true }, relationships), pointer, globalSentence(kind));
    await stage.update({ global: true });
    const etag = await stage.etag();
    expectRefused(await stage.update({}, relationships), pointer, globalSentence(kind));
    expect(await stage.etag()).toBe(etag);
    data(await stage.update({ global: false }, relationships));
  });

  it("for ids of another organization, and changes nothing", async () => {
    const other = await makeOrganization(api);
    const id = (await makeWorkspace(api, other.name)).id;
    const answer = await stage.update({ description: "mine" }, { workspaces: linkage("workspaces", [id]) });
    expectRefused(
      answer,
      "/data/relationships/workspaces/data/0/id",
      `Workspace '${id}' does not exist in this organization`,
    );
    expect(data(await stage.show())).toEqual(stage.set);
  });
});

describe("If-Match", () => {
  it("accepts only one of concurrent requests", async () => {
    const { owner } = stage.org;
    const path = `${stage.at}/relationships/workspaces`;
    await stage.add("workspaces", stage.workspaces);
    const headers = { "if-match": await stage.etag() };
    const answers = await Promise.all([
      ...stage.workspaces.map((id) => owner.delete(path, linkage("workspaces", [id]), headers)),
      stage.update({}, { workspaces: linkage("workspaces", []) }, headers),
      stage.update({}, { projects: linkage("projects", stage.projects) }, headers),
      stage.update({ global: true }, undefined, headers),
    ]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(5);
    expect(await stage.events()).toHaveLength(3);
  });

  it("fails after a linked workspace or project was deleted", async () => {
    const project = (await makeProject(api, stage.org.name)).id;
    const workspace = (await makeWorkspace(api, stage.org.name, {}, inProject(project))).id;
    await stage.add("workspaces", [workspace, ...stage.workspaces]);
    await stage.add("projects", [project]);
    const tags = [await stage.etag()];
    const { owner } = stage.org;
    for (const path of [`/workspaces/${workspace}`, `/projects/${project}`]) {
      expect((await owner.delete(path)).status).toBe(204);
      tags.push(await stage.etag());
    }
    expect(data(await stage.show()).attributes).toMatchObject({ "workspace-count": 3, "project-count": 0 });
    tags.push((await stage.update({ priority: true })).headers.get("etag") ?? "");
    await stage.remove("workspaces", stage.workspaces);
    tags.push(await stage.etag());
    await stage.add("workspaces", stage.workspaces);
    tags.push(await stage.etag());
    const versions = tags.map((tag) => Number(JSON.parse(tag)));
    expect(new Set(versions).size).toBe(6);
    expect(versions).toEqual(versions.toSorted((left, right) => left - right));
  });
});

describe("deleteVarset", () => {
  it("deletes the set with its variables, and frees its name", async () => {
    const id = await addVar(stage.org, `${stage.at}/relationships/vars`, { key: "one" });
    await stage.add("workspaces", stage.workspaces);
    expect((await stage.org.owner.delete(stage.at)).status).toBe(204);
    expect((await stage.show()).status).toBe(404);
    expect((await stage.org.owner.delete(stage.at)).status).toBe(404);
    const row = await api.database.reader.db.selectFrom("vars").select("id").where("id", "=", id).executeTakeFirst();
    expect(row).toBeUndefined();
    expect((await stage.create({ name: stage.set.attributes.name })).status).toBe(201);
  });

  it("happens to a project's sets when the project is deleted", async () => {
    const project = (await makeProject(api, stage.org.name)).id;
    const created = data(await stage.create({}, { parent: { data: { type: "projects", id: project } } }));
    expect((await stage.org.owner.delete(`/projects/${project}`)).status).toBe(204);
    expect((await stage.show(created.id)).status).toBe(404);
  });
});

describe("the audit log", () => {
  it("records each change with the owner and the scope", async () => {
    const [one, two] = stage.two("workspaces");
    const { name } = stage.set.attributes;
    await stage.update({ priority: true }, { workspaces: linkage("workspaces", [two]) });
    await stage.add("workspaces", [one, two]);
    await stage.remove("workspaces", [one, two]);
    await stage.org.owner.delete(stage.at);
    const audited = {
      name,
      description: "",
      global: false,
      priority: false,
      "created-at": stage.set.attributes["created-at"],
      project: null,
      workspaces: [],
      projects: [],
    };
    const changed = { ...audited, priority: true, workspaces: [two] };
    const events = (await stage.events()).map(({ attributes: { action, before, after } }) => [action, before, after]);
    expect(events).toEqual([
      ["varsets.create", null, audited],
      ["varsets.update", audited, changed],
      ["varsets.add-workspaces", { workspaces: [] }, { workspaces: [one] }],
      ["varsets.remove-workspaces", { workspaces: [one, two] }, { workspaces: [] }],
      ["varsets.delete", { ...changed, workspaces: [] }, null],
    ]);
  });
});
