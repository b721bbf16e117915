/** Showing and listing variables of workspaces and of sets over HTTP. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, pointers, resource } from "../../../support/builders.ts";
import { homes, type HomeType, insertRows, useStage, varsIn } from "./support.ts";

const api = useApi();

describe.each(homes)("a variable of %s", (type) => {
  const stage = useStage(api, type);

  describe("showVar answers 200", () => {
    it("with the document, its ETag and a version-id", async () => {
      const answer = await stage.show();
      expect(data(answer)).toEqual(stage.variable);
      expect(answer.headers.get("etag")).toBe('"1"');
    });
  });

  describe("showVar answers 404", () => {
    it("for a variable that is not there", async () => {
      expect((await stage.show("var-0000000000000000")).status).toBe(404);
    });

    it("for a variable of another one, for every operation on one", async () => {
      const astray = `${varsIn(await stage.makeHome())}/${stage.variable.id}`;
      const { owner } = stage.org;
      expect((await owner.get(astray)).status).toBe(404);
      expect((await owner.patch(astray, resource("vars", { value: "mine" }))).status).toBe(404);
      expect((await owner.delete(astray)).status).toBe(404);
      expect(data(await stage.show())).toEqual(stage.variable);
    });
  });
});

const lists: readonly (readonly [string, HomeType, (home: Json) => string])[] = [
  ["listVars", "workspaces", varsIn],
  ["listAllVars", "workspaces", ({ id }) => `/workspaces/${id}/all-vars`],
  ["listVarsetVars", "varsets", varsIn],
];

describe.each(lists)("%s", (_, type, pathIn) => {
  const stage = useStage(api, type);
  let path: string;
  beforeAll(async () => {
    const home = await stage.makeHome();
    path = pathIn(home);
    for (const [key, category] of [
      ["b", "terraform"],
      ["C", "terraform"],
      ["a", "terraform"],
      ["a", "env"],
    ])
      data(await stage.org.owner.post(varsIn(home), resource("vars", { key, category })));
  });

  it("shows all of them, by key and then by id, where no page is asked for", async () => {
    const answer = await stage.org.owner.get(path);
    const items: Json[] = data(answer);
    expect(items.map((item) => item.attributes.key)).toEqual(["C", "a", "a", "b"]);
    const ids = items.filter((item) => item.attributes.key === "a").map((item) => item.id);
    expect(ids).toEqual(ids.toSorted());
    expect(answer.body.meta?.pagination).toBeUndefined();
    for (const item of items) expect(data(await stage.org.owner.get(item.links.self))).toEqual(item);
  });

  it("shows all of the largest number, where no page is asked for", async () => {
    const home = await stage.makeHome();
    await insertRows(api, stage.org, home, 1000);
    expect(data(await stage.org.owner.get(pathIn(home)))).toHaveLength(1000);
  });

  it("shows the page that is asked for, also past the end", async () => {
    const second = await stage.org.owner.get(`${path}?page[size]=3&page[number]=2`);
    expect(second.body.data.map((item: Json) => item.attributes.key)).toEqual(["b"]);
    expect(second.body.meta.pagination).toMatchObject({ "total-count": 4, "total-pages": 2 });
    const past = await stage.org.owner.get(`${path}?page[number]=999`);
    expect(past.body.data).toEqual([]);
    expect(past.body.meta.pagination["total-count"]).toBe(4);
  });

  it("answers 400 for a page that can't be", async () => {
    const answer = await stage.org.owner.get(`${path}?page[number]=0`);
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["page[number]"]);
  });

  it("shows nothing of others", async () => {
    const answer = await stage.org.owner.get(`${pathIn(await stage.makeHome())}?page[size]=5`);
    expect(data(answer)).toEqual([]);
    expect(answer.body.meta.pagination["total-count"]).toBe(0);
  });

  it("answers 404 for one that is not there", async () => {
    expect((await stage.org.owner.get(pathIn({ type, id: "none-0000000000000000" }))).status).toBe(404);
  });
});
