/** relationships.tags and relationships.tag-bindings of a creation: by name, by id, and what is refused. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource, unique } from "../../../support/builders.ts";
import { bound, faults, pathById, tagged } from "./support.ts";

const api = useApi();
let org: Org;
beforeEach(async () => {
  org = await makeOrganization(api);
});

const create = (relationships: object) =>
  org.owner.post(
    `/organizations/${org.name}/workspaces`,
    resource("workspaces", { name: unique("ws") }, relationships),
  );
const tags = async (): Promise<Json[]> => data(await org.owner.get(`/organizations/${org.name}/tags`));
const counts = async () =>
  (await tags()).map(({ attributes }) => [attributes.name, attributes["instance-count"]]).sort();

describe("createWorkspace: tags", () => {
  it("by name are created if missing, sorted in the document, and counted", async () => {
    const made = data(await create(tagged("net", "Prod", "a:b", "net")));
    expect(made.attributes["tag-names"]).toEqual(["Prod", "a:b", "net"]);
    expect(data(await org.owner.get(pathById(made)))).toEqual(made);
    data(await create(tagged("net")));
    expect(await counts()).toEqual([
      ["Prod", 1],
      ["a:b", 1],
      ["net", 2],
    ]);
  });

  it("by the id of an existing tag, also together with a name", async () => {
    await makeWorkspace(api, org.name, {}, tagged("first", "second"));
    const known = await tags();
    const idOf = (name: string): string => known.find(({ attributes }) => attributes.name === name)?.id;
    const made = data(
      await create({
        tags: {
          data: [
            { type: "tags", id: idOf("first") },
            { type: "tags", attributes: { name: "third" } },
            known.find(({ attributes }) => attributes.name === "second"),
          ],
        },
      }),
    );
    expect(made.attributes["tag-names"]).toEqual(["first", "second", "third"]);
  });

  it("an empty list is none", async () => {
    expect(data(await create({ tags: { data: [] } })).attributes["tag-names"]).toEqual([]);
  });

  it("an unknown id is refused, and nothing is created", async () => {
    const other = await makeOrganization(api);
    await makeWorkspace(api, other.name, {}, tagged("theirs"));
    const foreign = data(await other.owner.get(`/organizations/${other.name}/tags`))[0].id;
    for (const id of ["tag-unknown", foreign]) {
      const answer = await create({
        tags: {
          data: [
            { type: "tags", attributes: { name: "made" } },
            { type: "tags", id },
          ],
        },
      });
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual([
        ["/data/relationships/tags/data/1/id", `Tag '${id}' does not exist in this organization`],
      ]);
    }
    expect(await tags()).toEqual([]);
    expect(data(await org.owner.get(`/organizations/${org.name}/workspaces`))).toEqual([]);
  });

  it.each(["a b", "a,b", "ä", "a.b", ""])("the name %j is refused", async (name) => {
    const answer = await create(tagged("fine", name));
    expect(answer.status).toBe(422);
    expect(faults(answer).map(([pointer]) => pointer)).toEqual(["/data/relationships/tags/data/1/attributes/name"]);
    expect(await tags()).toEqual([]);
  });

  it("255 characters are taken, 256 are not", async () => {
    expect((await create(tagged("x".repeat(255)))).status).toBe(201);
    expect((await create(tagged("x".repeat(256)))).status).toBe(422);
  });

  it.each<[string, unknown]>([
    ["no list", { type: "tags", id: "x" }],
    ["neither id nor name", [{ type: "tags" }]],
    ["another type", [{ type: "teams", id: "x" }]],
    ["no object", ["x"]],
    ["more than 1,000", Array.from({ length: 1001 }, (_, number) => ({ attributes: { name: `t${number}` } }))],
  ])("%s is refused", async (_, sent) => {
    const answer = await create({ tags: { data: sent } });
    expect(answer.status).toBe(422);
    for (const [pointer] of faults(answer)) expect(pointer).toMatch(/^\/data\/relationships\/tags\/data/);
  });
});

describe("createWorkspace: key-value tags", () => {
  it("are set, also without a value", async () => {
    const sent = { data: [{ type: "tag-bindings", attributes: { key: "env" } }] };
    const made = data(await create({ "tag-bindings": sent }));
    const query = `/organizations/${org.name}/workspaces?filter[tagged][0][key]=env`;
    expect(data(await org.owner.get(query)).map(({ id }: Json) => id)).toEqual([made.id]);
    expect(made.attributes["tag-names"]).toEqual([]);
  });

  it("a key that is sent twice is refused", async () => {
    const sent = [
      { type: "tag-bindings", attributes: { key: "env", value: "a" } },
      { type: "tag-bindings", attributes: { key: "env", value: "b" } },
    ];
    const answer = await create({ "tag-bindings": { data: sent } });
    expect(faults(answer)).toEqual([
      ["/data/relationships/tag-bindings/data/1/attributes/key", "Key 'env' appears more than once"],
    ]);
  });

  it("25 are taken", async () => {
    const keys = Array.from({ length: 25 }, (_, number) => [`key-${number}`, "v"]);
    expect((await create(bound(Object.fromEntries(keys)))).status).toBe(201);
  });
});
