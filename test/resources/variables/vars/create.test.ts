/**
 * createVar and createVarsetVar over HTTP: stored values, defaults and errors.
 * Showing and listing variables of workspaces and sets. deleteVar and deleteVarsetVar, and deletion with
 * a workspace or set.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, pointers, resource } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";
import {
  tooLargeSentence,
  envSentence,
  expectRefused,
  parentTypes,
  type VarParentType,
  insertRows,
  newKey,
  takenSentence,
  terraformSentence,
  useStage,
  varsIn,
} from "./support.ts";

const api = useApi();

describe.each(parentTypes)("a variable of %s", (type) => {
  const stage = useStage(api, type);

  describe("createVar answers 201", () => {
    it("with the document that show and list give", async () => {
      const key = newKey();
      const answer = await stage.create({ key, value: "1", description: "What for", category: "env", hcl: true });
      expect(answer.status).toBe(201);
      const { id } = answer.body.data;
      expect(answer.body.data).toEqual({
        id: expect.stringMatching(/^var-[a-zA-Z0-9]{16}$/),
        type: "vars",
        attributes: {
          key,
          value: "1",
          description: "What for",
          category: "env",
          hcl: true,
          sensitive: false,
          "created-at": expect.stringMatching(/Z$/),
          "version-id": expect.stringMatching(/^[0-9a-f]{64}$/),
        },
        relationships: {
          [type === "workspaces" ? "configurable" : "varset"]: {
            data: { id: stage.parent.id, type },
            links: { related: `/api/v2${stage.parentPath}` },
          },
        },
        links: { self: `/api/v2${stage.path}/${id}` },
      });
      const shown = await stage.show(id);
      expect(data(shown)).toEqual(answer.body.data);
      expect(shown.headers.get("etag")).toBe(answer.headers.get("etag"));
      expect(data(await stage.org.owner.get(`${stage.path}?page[size]=100`))).toContainEqual(answer.body.data);
    });

    it("with defaults for absent attributes", async () => {
      const created = data(await stage.create({ value: undefined }));
      expect(created.attributes).toMatchObject({ value: "", description: "", hcl: false, sensitive: false });
      expect(await stage.stored(created.id)).toBe("");
      expect(data(await stage.create({ description: null })).attributes.description).toBe("");
    });

    it.each([
      ["terraform", "x"],
      ["terraform", "with-hyphens.and/anything"],
      ["terraform", "🍄".repeat(255)],
      ["env", "_"],
      ["env", "TF_LOG"],
      ["env", `a${"9".repeat(254)}`],
    ])("for a key of the category %s %#", async (category, key) => {
      expect(data(await stage.create({ category, key })).attributes.key).toBe(key);
    });

    it("for the largest value and description", async () => {
      const value = `ö\n\t"${"x".repeat(256 * 1024 - 5)}`;
      const created = data(await stage.create({ value, description: "🍄".repeat(512) }));
      expect(created.attributes.value).toBe(value);
      expect(created.attributes.description).toBe("🍄".repeat(512));
      expect(await stage.stored(created.id)).toBe(value);
    });

    it("for a key that differs in case, that the other category has, or that another workspace or set has", async () => {
      const { key } = stage.variable.attributes;
      data(await stage.create({ key: key.toUpperCase() }));
      data(await stage.create({ key, category: "env" }));
      const body = resource("vars", { key, category: "terraform" });
      for (const parent of [await api.makeWorkspace(stage.org.name), await api.makeVarset(stage.org.name)])
        expect((await stage.org.owner.post(varsIn(parent), body)).status).toBe(201);
    });
  });

  describe("createVar adds the variable to the document of its workspace or set", () => {
    it("and changes its version", async () => {
      const parent = await stage.makeParent();
      const shown = () => stage.org.owner.get(`/${type}/${parent.id}`);
      const before = (await shown()).headers.get("etag");
      const ids = new Map<string, string>();
      for (const key of ["c", "a", "b"]) {
        const body = resource("vars", { key, category: "terraform" });
        ids.set(key, data(await stage.org.owner.post(varsIn(parent), body)).id);
      }
      const after = await shown();
      expect(after.headers.get("etag")).not.toBe(before);
      // A workspace lists the newest last, a set lists by key.
      const order = type === "workspaces" ? ["c", "a", "b"] : ["a", "b", "c"];
      expect(data(after).relationships.vars.data).toEqual(order.map((key) => ({ id: ids.get(key), type: "vars" })));
    });

    it("for all concurrent requests", async () => {
      const parent = await stage.makeParent();
      const bodies = Array.from({ length: 8 }, () => resource("vars", { key: newKey(), category: "env" }));
      const created = await Promise.all(
        bodies.map(async (body) => data(await stage.org.owner.post(varsIn(parent), body)).id),
      );
      const named = data(await stage.org.owner.get(`/${type}/${parent.id}`)).relationships.vars.data;
      expect(named.map(({ id }: Json) => id).sort()).toEqual(created.sort());
    });
  });

  describeOnce("createVar answers 422 for what the body shows", () => {
    it.each([
      ["key", "", "Key can't be blank"],
      ["key", "x".repeat(256), "Key is too long (maximum is 255 characters)"],
      ["key", null, "Key must be a string"],
      ["key", 5, "Key must be a string"],
      ["key", " ", terraformSentence],
      ["key", "two words", terraformSentence],
      ["key", "line\n", terraformSentence],
      ["key", "no\u00a0break", terraformSentence],
      ["value", `ö${"x".repeat(256 * 1024 - 1)}`, "Value is too large (maximum is 262144 bytes)"],
      ["value", null, "Value must be a string"],
      ["value", 5, "Value must be a string"],
      ["value", {}, "Value must be a string"],
      ["description", "x".repeat(513), "Description is too long (maximum is 512 characters)"],
      ["description", 5, "Description must be a string"],
      ["category", "policy-set", "Category must be one of: terraform, env"],
      ["category", null, "Category must be one of: terraform, env"],
      ["hcl", "true", "Hcl must be true or false"],
      ["hcl", null, "Hcl must be true or false"],
      ["sensitive", 1, "Sensitive must be true or false"],
      ["sensitive", null, "Sensitive must be true or false"],
    ])("for the %s %#", async (attribute, value, detail) => {
      expectRefused(await stage.create({ [attribute]: value }), attribute, detail);
    });

    it.each(["", "9lives", "with-hyphens", "with.dots", "two words", "näme", "line\n", "a=b"])(
      "for the environment variable %j",
      async (key) => {
        const detail = key === "" ? "Key can't be blank" : envSentence;
        expectRefused(await stage.create({ key, category: "env" }), "key", detail);
      },
    );

    it.each(["key", "category"])("without %s", async (attribute) => {
      const detail = `${attribute === "key" ? "Key" : "Category"} can't be blank`;
      expectRefused(await stage.create({ [attribute]: undefined }), attribute, detail);
    });

    it("with all faults", async () => {
      const answer = await stage.create({ key: "two words", description: 5, sensitive: "yes" });
      expect(pointers(answer).sort()).toEqual([
        "/data/attributes/description",
        "/data/attributes/key",
        "/data/attributes/sensitive",
      ]);
    });
  });

  describe("createVar answers 422 because of stored variables", () => {
    it("for a key that is taken in the category, and changes nothing", async () => {
      const before = (await stage.org.owner.get(stage.parentPath)).headers.get("etag");
      expectRefused(await stage.create({ key: stage.variable.attributes.key }), "key", takenSentence);
      expect((await stage.org.owner.get(stage.parentPath)).headers.get("etag")).toBe(before);
    });

    it("for all but one of concurrent requests with the same key", async () => {
      const key = newKey();
      const answers = await Promise.all(Array.from({ length: 8 }, () => stage.create({ key })));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(422)]);
      for (const answer of answers.filter(({ status }) => status === 422)) expectRefused(answer, "key", takenSentence);
      const listed = data(await stage.org.owner.get(`${stage.path}?page[size]=100`));
      expect(listed.filter((item: Json) => item.attributes.key === key)).toHaveLength(1);
    });

    it("for the 1001st variable, also with concurrent requests", async () => {
      const parent = await stage.makeParent();
      await insertRows(api, stage.org, parent, 999);
      const add = () => stage.org.owner.post(varsIn(parent), resource("vars", { key: newKey(), category: "env" }));
      const answers = await Promise.all([add(), add(), add()]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
      const refused = await add();
      const noun = type === "workspaces" ? "workspace" : "variable set";
      expect(details(refused)).toEqual([
        `A ${noun} can have at most 1000 variables; delete one before you add another`,
      ]);
      const created = answers.find(({ status }) => status === 201)?.body.data.id;
      expect((await stage.org.owner.delete(`${varsIn(parent)}/${created}`)).status).toBe(204);
      expect((await add()).status).toBe(201);
      expect((await stage.create()).status).toBe(201);
    });

    it("for values that exceed the total size, also with concurrent requests", async () => {
      const parent = await stage.makeParent();
      await insertRows(api, stage.org, parent, 31, Buffer.alloc(256 * 1024, "x"));
      const add = (value: string) =>
        stage.org.owner.post(varsIn(parent), resource("vars", { key: newKey(), category: "env", value }));
      const half = "x".repeat(128 * 1024);
      const answers = await Promise.all([add(half), add(half), add(half), add(half)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422]);
      expectRefused(await add("x"), "value", tooLargeSentence(type));
      expect((await add("")).status).toBe(201);
    });
  });
});

describe.each(parentTypes)("a variable of %s", (type) => {
  const stage = useStage(api, type);

  describe("showVar answers 200", () => {
    it("with the document, its ETag and a version-id", async () => {
      const answer = await stage.show();
      expect(data(answer)).toEqual(stage.variable);
      expect(answer.headers.get("etag")).toBe('"1"');
    });
  });

  describe("showVar answers 404", () => {
    it("for an unknown variable", async () => {
      expect((await stage.show("var-0000000000000000")).status).toBe(404);
    });

    it("for a variable of another owner, on every operation", async () => {
      const pathInOtherParent = `${varsIn(await stage.makeParent())}/${stage.variable.id}`;
      const { owner } = stage.org;
      expect((await owner.get(pathInOtherParent)).status).toBe(404);
      expect((await owner.patch(pathInOtherParent, resource("vars", { value: "mine" }))).status).toBe(404);
      expect((await owner.delete(pathInOtherParent)).status).toBe(404);
      expect(data(await stage.show())).toEqual(stage.variable);
    });
  });
});

const lists: readonly (readonly [string, VarParentType, (parent: Json) => string])[] = [
  ["listVars", "workspaces", varsIn],
  ["listAllVars", "workspaces", ({ id }) => `/workspaces/${id}/all-vars`],
  ["listVarsetVars", "varsets", varsIn],
];

describe.each(lists)("%s", (_, type, pathIn) => {
  const stage = useStage(api, type);
  let path: string;
  beforeAll(async () => {
    const parent = await stage.makeParent();
    path = pathIn(parent);
    for (const [key, category] of [
      ["b", "terraform"],
      ["C", "terraform"],
      ["a", "terraform"],
      ["a", "env"],
    ])
      data(await stage.org.owner.post(varsIn(parent), resource("vars", { key, category })));
  });

  it("shows all of them, by key and then by id, without page parameters", async () => {
    const answer = await stage.org.owner.get(path);
    const items: Json[] = data(answer);
    expect(items.map((item) => item.attributes.key)).toEqual(["C", "a", "a", "b"]);
    const ids = items.filter((item) => item.attributes.key === "a").map((item) => item.id);
    expect(ids).toEqual(ids.toSorted());
    expect(answer.body.meta?.pagination).toBeUndefined();
    for (const item of items) expect(data(await stage.org.owner.get(item.links.self))).toEqual(item);
  });

  it("shows the maximum number of variables without page parameters", async () => {
    const parent = await stage.makeParent();
    await insertRows(api, stage.org, parent, 1000);
    expect(data(await stage.org.owner.get(pathIn(parent)))).toHaveLength(1000);
  });

  it("shows the requested page, also past the end", async () => {
    const second = await stage.org.owner.get(`${path}?page[size]=3&page[number]=2`);
    expect(second.body.data.map((item: Json) => item.attributes.key)).toEqual(["b"]);
    expect(second.body.meta.pagination).toMatchObject({ "total-count": 4, "total-pages": 2 });
    const past = await stage.org.owner.get(`${path}?page[number]=999`);
    expect(past.body.data).toEqual([]);
    expect(past.body.meta.pagination["total-count"]).toBe(4);
  });

  it("answers 400 for an invalid page", async () => {
    const answer = await stage.org.owner.get(`${path}?page[number]=0`);
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["page[number]"]);
  });

  it("doesn't show variables of other owners", async () => {
    const answer = await stage.org.owner.get(`${pathIn(await stage.makeParent())}?page[size]=5`);
    expect(data(answer)).toEqual([]);
    expect(answer.body.meta.pagination["total-count"]).toBe(0);
  });
});

describe.each(parentTypes)("a variable of %s", (type) => {
  const stage = useStage(api, type);

  describe("deleteVar answers 204", () => {
    it("and removes it from the document of its workspace or set, whose version changes", async () => {
      const [first, last] = [data(await stage.create()), data(await stage.create())];
      const parent = () => stage.org.owner.get(stage.parentPath);
      const before = await parent();
      expect((await stage.org.owner.delete(`${stage.path}/${first.id}`)).status).toBe(204);
      expect((await stage.show(first.id)).status).toBe(404);
      expect(await stage.row(first.id)).toBeUndefined();
      const after = await parent();
      expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
      const named = (answer: typeof after): string[] => data(answer).relationships.vars.data.map(({ id }: Json) => id);
      expect(named(before).toSorted()).toEqual([stage.variable.id, first.id, last.id].toSorted());
      expect(named(after)).toEqual(named(before).filter((id) => id !== first.id));
    });

    it("and the document of an owner without variables lists none", async () => {
      const parent = await stage.makeParent();
      const path = `/${type}/${parent.id}`;
      const body = resource("vars", { key: newKey(), category: "env" });
      const created = data(await stage.org.owner.post(varsIn(parent), body));
      expect((await stage.org.owner.delete(`${varsIn(parent)}/${created.id}`)).status).toBe(204);
      expect(data(await stage.org.owner.get(path)).relationships.vars.data).toEqual([]);
      expect((await stage.org.owner.post(varsIn(parent), body)).status).toBe(201);
      expect(data(await stage.org.owner.get(path)).relationships.vars.data).toHaveLength(1);
    });

    it("and frees the key, also of a sensitive variable", async () => {
      const { key } = stage.variable.attributes;
      await stage.update({ sensitive: true });
      expect((await stage.org.owner.delete(stage.at)).status).toBe(204);
      const again = data(await stage.create({ key, value: "open" }));
      expect(again.attributes).toMatchObject({ key, value: "open", sensitive: false });
      expect(again.id).not.toBe(stage.variable.id);
    });

    it("to only one of concurrent requests", async () => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => stage.org.owner.delete(stage.at)));
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404]);
    });
  });

  describe("deleteVar answers 404", () => {
    it("for an unknown variable", async () => {
      expect((await stage.org.owner.delete(`${stage.path}/var-0000000000000000`)).status).toBe(404);
    });
  });

  describe("deleting the workspace or set", () => {
    it("deletes its variables", async () => {
      expect((await stage.org.owner.delete(stage.parentPath)).status).toBe(204);
      expect(await stage.row()).toBeUndefined();
      expect((await stage.show()).status).toBe(404);
    });
  });
});
