/** Applying a set to workspaces and projects, and no longer, over HTTP. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, inProject, makeOrganization, makeProject, makeWorkspace, pointers } from "../../../support/builders.ts";
import { expectRefused, globalSentence, kinds, linkage, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

describe.each(kinds)("%s", (kind) => {
  const make = async (name: string): Promise<string> =>
    (await (kind === "workspaces" ? makeWorkspace : makeProject)(api, name)).id;

  it("are added and removed: 204, shown and counted, each change with a version and an event", async () => {
    const [one, two] = stage.two(kind);
    const seen = [await stage.etag()];
    const step = async (change: typeof stage.add, ids: string[], expected: string[]) => {
      expect((await change(kind, ids)).status).toBe(204);
      expect(await stage.linked(kind)).toEqual(expected);
      expect(data(await stage.show()).attributes[`${kind.slice(0, -1)}-count`]).toBe(expected.length);
      seen.push(await stage.etag());
    };
    await step(stage.add, [one], [one]);
    await step(stage.add, [two, one, two], [one, two]);
    await step(stage.remove, [one], [two]);
    await step(stage.remove, [two, one], []);
    expect(new Set(seen).size).toBe(5);
    expect(await stage.events()).toHaveLength(5);
  });

  it("that are there already, or not there, change nothing", async () => {
    const [one, two] = stage.two(kind);
    await stage.add(kind, [one]);
    const etag = await stage.etag();
    for (const answer of [await stage.add(kind, [one]), await stage.add(kind, []), await stage.remove(kind, [two])])
      expect(answer.status).toBe(204);
    expect(await stage.etag()).toBe(etag);
    expect(await stage.events()).toHaveLength(2);
  });

  it("are all there when many are added at the same time", async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => make(stage.org.name)));
    const answers = await Promise.all(ids.map((id) => stage.add(kind, [id])));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(204));
    expect(await stage.linked(kind)).toEqual(ids.toSorted());
    expect(Number(JSON.parse(await stage.etag()))).toBe(7);
  });

  it("of another organization, or that are not there: 422 with their places, and nothing changes", async () => {
    const other = await makeOrganization(api);
    const ids = [stage.two(kind)[0], await make(other.name), "none-0000000000000000"];
    for (const answer of [await stage.add(kind, ids), await stage.remove(kind, ids)]) {
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/1/id", "/data/2/id"]);
    }
    expect(await stage.linked(kind)).toEqual([]);
  });

  it("of another type, or more than 1000: 422", async () => {
    const path = `${stage.at}/relationships/${kind}`;
    const wrong = await stage.org.owner.post(path, { data: [{ type: "teams", id: "team-1" }] });
    expect(pointers(wrong)).toEqual(["/data/0"]);
    const ids = Array.from({ length: 1001 }, (_, index) => `x-${index}`);
    expect(pointers(await stage.add(kind, ids))).toEqual(["/data"]);
  });

  it("1000 at once: 204", async () => {
    const ids = stage.two(kind);
    const many = Array.from({ length: 1000 }, (_, index) => ids[index % 2] ?? "");
    expect((await stage.add(kind, many)).status).toBe(204);
    expect(await stage.linked(kind)).toEqual(ids);
  });

  it("of a global set: 422", async () => {
    await stage.update({ global: true });
    expectRefused(await stage.add(kind, stage.two(kind)), `/data/relationships/${kind}`, globalSentence(kind));
    expect((await stage.remove(kind, stage.two(kind))).status).toBe(204);
  });

  it("that are deleted go from the set", async () => {
    const id = await make(stage.org.name);
    await stage.add(kind, [id, stage.two(kind)[0]]);
    expect((await stage.org.owner.delete(`/${kind}/${id}`)).status).toBe(204);
    expect(await stage.linked(kind)).toEqual([stage.two(kind)[0]]);
  });
});

describe("a set that a project owns", () => {
  it("is applied within that project alone", async () => {
    const [project, other] = stage.projects as [string, string];
    const owned = data(await stage.create({}, { parent: { data: { type: "projects", id: project } } }));
    const post = (kind: "workspaces" | "projects", id: string) =>
      stage.org.owner.post(`/varsets/${owned.id}/relationships/${kind}`, linkage(kind, [id]));
    expect((await post("projects", project)).status).toBe(204);
    expect((await post("workspaces", stage.workspaces[0] ?? "")).status).toBe(204);
    const beyond = "is not within the project that owns the set";
    expectRefused(await post("projects", other), "/data/0/id", `Project '${other}' ${beyond}`);
    const id = stage.workspaces[2] ?? "";
    expectRefused(await post("workspaces", id), "/data/0/id", `Workspace '${id}' ${beyond}`);
  });

  it("lets go of a workspace that has left the project", async () => {
    const [project, other] = stage.projects as [string, string];
    const { id } = await makeWorkspace(api, stage.org.name, {}, inProject(project));
    const relationships = {
      parent: { data: { type: "projects", id: project } },
      workspaces: linkage("workspaces", [id]),
    };
    const owned = data(await stage.create({}, relationships));
    const applied = async () => {
      const sets = data(await stage.org.owner.get(`/workspaces/${id}/varsets?page[size]=100`));
      return sets.some((set: { id: string }) => set.id === owned.id);
    };
    expect(await applied()).toBe(true);
    data(
      await stage.org.owner.patch(`/workspaces/${id}`, {
        data: { type: "workspaces", relationships: inProject(other) },
      }),
    );
    expect(await applied()).toBe(false);
    const path = `/varsets/${owned.id}/relationships/workspaces`;
    expect((await stage.org.owner.delete(path, linkage("workspaces", [id]))).status).toBe(204);
  });
});
