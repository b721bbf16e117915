/**
 * updateVar and updateVarsetVar over HTTP: a value, null and absent for each attribute; what can't be changed;
 * If-Match; the audit log. updateVars: several variables of a workspace in one transaction.
 */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, pointers } from "../../../support/builders.ts";
import {
  tooLargeSentence,
  envSentence,
  expectRefused,
  parentTypes,
  insertRows,
  newKey,
  sensitiveSentence,
  takenSentence,
  terraformSentence,
  useStage,
} from "./support.ts";

const api = useApi();

describe.each(parentTypes)("a variable of %s", (type) => {
  const stage = useStage(api, type);

  describe("updateVar, a value: changes only this attribute, and the version", () => {
    it.each([
      ["key", newKey()],
      ["value", "another value"],
      ["value", ""],
      ["description", "What for"],
      ["category", "env"],
      ["hcl", true],
    ])("%s %#", async (attribute, value) => {
      const before = await stage.etag();
      const answer = await stage.update({ [attribute]: value });
      expect(answer.status).toBe(200);
      const versionId = answer.body.data.attributes["version-id"];
      expect(versionId).not.toBe(stage.variable.attributes["version-id"]);
      expect(answer.body.data).toEqual({
        ...stage.variable,
        attributes: { ...stage.variable.attributes, [attribute]: value, "version-id": versionId },
      });
      expect(answer.headers.get("etag")).not.toBe(before);
      expect(data(await stage.show())).toEqual(answer.body.data);
      expect(await stage.stored()).toBe(attribute === "value" ? value : "a value");
    });

    it("sensitive: keeps the value and no longer shows it", async () => {
      const { attributes } = data(await stage.update({ sensitive: true }));
      expect(attributes).toMatchObject({ sensitive: true, value: null });
      expect(attributes["version-id"]).not.toBe(stage.variable.attributes["version-id"]);
      expect(data(await stage.show()).attributes).toEqual(attributes);
      expect(await stage.stored()).toBe("a value");
    });

    it("sensitive and a value together: stores the new value and never shows it", async () => {
      expect(data(await stage.update({ sensitive: true, value: "hidden" })).attributes.value).toBeNull();
      expect(await stage.stored()).toBe("hidden");
    });

    it("doesn't change the document of its workspace or set", async () => {
      const before = await stage.org.owner.get(stage.parentPath);
      data(await stage.update({ key: newKey(), value: "another" }));
      const after = await stage.org.owner.get(stage.parentPath);
      expect(after.headers.get("etag")).toBe(before.headers.get("etag"));
      expect(data(after)).toEqual(data(before));
    });
  });

  describe("updateVar, null", () => {
    it("description: empties it", async () => {
      await stage.update({ description: "What for" });
      expect(data(await stage.update({ description: null })).attributes.description).toBe("");
    });

    it.each([
      ["key", "Key must be a string"],
      ["value", "Value must be a string"],
      ["category", "Category must be one of: terraform, env"],
      ["hcl", "Hcl must be true or false"],
      ["sensitive", "Sensitive must be true or false"],
    ])("%s: is refused", async (attribute, detail) => {
      expectRefused(await stage.update({ [attribute]: null }), attribute, detail);
    });

    it("value: is rejected for a sensitive variable, which keeps its value", async () => {
      const { attributes } = data(await stage.update({ sensitive: true }));
      expectRefused(await stage.update(attributes), "value", "Value must be a string");
      expect(await stage.stored()).toBe("a value");
    });
  });

  describe("updateVar, absent or the same: changes only the version, and records an event", () => {
    it.each([[{}], [{ colour: "blue" }], [{ "version-id": "mine", "created-at": "2020-01-01T00:00:00Z" }]])(
      "for %j",
      async (attributes) => {
        const before = await stage.etag();
        const answer = await stage.update(attributes);
        expect(answer.status).toBe(200);
        const versionId = answer.body.data.attributes["version-id"];
        expect(versionId).not.toBe(stage.variable.attributes["version-id"]);
        expect(answer.body.data).toEqual({
          ...stage.variable,
          attributes: { ...stage.variable.attributes, "version-id": versionId },
        });
        expect(answer.headers.get("etag")).not.toBe(before);
        expect(data(await stage.show())).toEqual(answer.body.data);
        const [, event] = await stage.events();
        expect(event?.attributes.before).toEqual(event?.attributes.after);
      },
    );

    it("for unchanged values: a new version-id each time", async () => {
      const seen = [stage.variable.attributes["version-id"]];
      for (const attributes of [stage.variable.attributes, { description: null }, { value: "a value" }])
        seen.push(data(await stage.update(attributes)).attributes["version-id"]);
      expect(new Set(seen).size).toBe(4);
      for (const { attributes } of await stage.events())
        expect(attributes.after).not.toHaveProperty("replaced-secrets");
      expect(await stage.stored()).toBe("a value");
    });

    it("for the value of a sensitive variable, without revealing whether a guess was right", async () => {
      await stage.update({ sensitive: true });
      await stage.update({ value: "a value" });
      await stage.update({ value: "a guess" });
      const [, , same, other] = (await stage.events()).map(({ attributes }) => attributes.after);
      expect(same).toEqual(other);
      expect(same["replaced-secrets"]).toEqual(["value"]);
    });
  });

  describe("updateVar answers 422", () => {
    it.each([
      ["key", "", "Key can't be blank"],
      ["key", "x".repeat(256), "Key is too long (maximum is 255 characters)"],
      ["key", "two words", terraformSentence],
      ["value", "x".repeat(256 * 1024 + 1), "Value is too large (maximum is 262144 bytes)"],
      ["description", "x".repeat(513), "Description is too long (maximum is 512 characters)"],
      ["category", "policy-set", "Category must be one of: terraform, env"],
    ])("for the %s %#", async (attribute, value, detail) => {
      expectRefused(await stage.update({ [attribute]: value }), attribute, detail);
      expect(data(await stage.show())).toEqual(stage.variable);
    });

    it("for a key that is invalid in its category, whichever of the two is sent", async () => {
      expectRefused(await stage.update({ key: "with-hyphens", category: "env" }), "key", envSentence);
      data(await stage.update({ key: `${newKey()}-with-hyphens` }));
      expectRefused(await stage.update({ category: "env" }), "key", envSentence);
      data(await stage.update({ key: newKey(), category: "env" }));
      expectRefused(await stage.update({ key: "with-hyphens" }), "key", envSentence);
    });

    it("for a key and category that another variable has", async () => {
      const { key } = stage.variable.attributes;
      const other = data(await stage.create({ category: "terraform" }));
      expectRefused(await stage.update({ key: other.attributes.key }), "key", takenSentence);
      data(await stage.create({ key, category: "env" }));
      expectRefused(await stage.update({ category: "env" }), "key", takenSentence);
      data(await stage.create({ key: other.attributes.key, category: "env" }));
      expectRefused(await stage.update({ key: other.attributes.key, category: "env" }), "key", takenSentence);
      expect(data(await stage.show())).toEqual(stage.variable);
    });

    it("for all but one of concurrent requests with the same key", async () => {
      const key = newKey();
      const others = await Promise.all(Array.from({ length: 4 }, async () => data(await stage.create()).id));
      const body = { data: { type: "vars", attributes: { key } } };
      const answers = await Promise.all(others.map((id) => stage.org.owner.patch(`${stage.path}/${id}`, body)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422]);
      for (const answer of answers.filter(({ status }) => status === 422)) expectRefused(answer, "key", takenSentence);
    });

    it("for a value that exceeds the total size, and only for the value", async () => {
      await insertRows(api, stage.org, stage.parent, 32, Buffer.alloc(256 * 1024 - 1, "x"));
      data(await stage.update({ value: "x".repeat(32) }));
      expectRefused(await stage.update({ value: "ö".repeat(16) + "x" }), "value", tooLargeSentence(type));
      data(await stage.update({ value: "ö".repeat(16), key: newKey() }));
      data(await stage.update({ description: "What for" }));
      expect(await stage.stored()).toBe("ö".repeat(16));
    });

    it("for turning sensitive off, also with a new value, and changes nothing", async () => {
      const hidden = data(await stage.update({ sensitive: true }));
      for (const attributes of [{ sensitive: false }, { sensitive: false, value: "new" }])
        expectRefused(await stage.update(attributes), "sensitive", sensitiveSentence);
      expect(data(await stage.show())).toEqual(hidden);
      expect(await stage.stored()).toBe("a value");
    });

    it("with all faults that need the row", async () => {
      const other = data(await stage.create());
      await stage.update({ sensitive: true });
      const answer = await stage.update({ sensitive: false, key: other.attributes.key });
      expect(answer.status).toBe(422);
      expect(answer.body.errors).toHaveLength(2);
    });
  });

  describe("the audit log", () => {
    it("records each change with the owner, and that a value was replaced", async () => {
      const ownerReference = { [type === "workspaces" ? "workspace" : "varset"]: stage.parent.id };
      const { value: _value, "version-id": _versionId, ...audited } = stage.variable.attributes;
      await stage.update({ description: "What for" });
      await stage.update({ value: "another", hcl: true });
      await stage.org.owner.delete(stage.at);
      const events = (await stage.events()).map(({ attributes: { action, before, after } }) => ({
        action,
        before,
        after,
      }));
      const described = { ...audited, description: "What for", ...ownerReference };
      expect(events).toEqual([
        { action: "vars.create", before: null, after: { ...audited, ...ownerReference } },
        { action: "vars.update", before: { ...audited, ...ownerReference }, after: described },
        {
          action: "vars.update",
          before: described,
          after: { ...described, hcl: true, "replaced-secrets": ["value"] },
        },
        { action: "vars.delete", before: { ...described, hcl: true }, after: null },
      ]);
    });
  });
});

describe("updateVars", () => {
  const stage = useStage(api);

  const item = ({ id }: Json, attributes?: object) => ({ type: "vars", id, ...(attributes && { attributes }) });
  const patch = (items: unknown, caller = stage.org.owner) =>
    caller.patch(`${stage.parentPath}/relationships/vars`, { data: items });
  const shown = async (id: string): Promise<Json> => data(await stage.show(id)).attributes;

  it("204: changes only the given attributes, and creates a new version of each", async () => {
    const other = data(await stage.create({ value: "kept", sensitive: true }));
    const third = data(await stage.create());
    const key = newKey();
    const answer = await patch([
      item(stage.variable, { value: "new", hcl: true }),
      item(other, { key, description: null }),
    ]);
    expect([answer.status, answer.body]).toEqual([204, undefined]);
    expect(await shown(stage.variable.id)).toMatchObject({
      value: "new",
      hcl: true,
      key: stage.variable.attributes.key,
    });
    expect(await shown(other.id)).toMatchObject({ key, value: null, sensitive: true, description: "" });
    expect([await stage.stored(), await stage.stored(other.id)]).toEqual(["new", "kept"]);
    expect(await shown(third.id)).toEqual(third.attributes);
    expect((await shown(other.id))["version-id"]).not.toBe(other.attributes["version-id"]);
  });

  it("makes a value sensitive without showing it, and records an event for each without the value", async () => {
    const other = data(await stage.create());
    expect((await patch([item(stage.variable, { value: "s3cret", sensitive: true }), item(other)])).status).toBe(204);
    expect(await shown(stage.variable.id)).toMatchObject({ value: null, sensitive: true });
    expect(await stage.stored()).toBe("s3cret");
    const [, event] = await stage.events();
    expect(event.attributes).toMatchObject({ action: "vars.update", after: { "replaced-secrets": ["value"] } });
    expect(JSON.stringify(event)).not.toContain("s3cret");
    const events = data(await stage.org.owner.get(`/organizations/${stage.org.name}/audit-events?page[size]=2`));
    expect(new Set(events.map((each: Json) => each.attributes["subject-id"]))).toEqual(
      new Set([stage.variable.id, other.id]),
    );
  });

  it("422: the faults of all items with pointers, and nothing is changed", async () => {
    const secret = data(await stage.create({ sensitive: true }));
    const other = data(await stage.create());
    const answer = await patch([
      item(stage.variable, { value: "lost" }),
      item(secret, { sensitive: false }),
      item(other, { key: stage.variable.attributes.key }),
      item({ id: "var-none" }, { value: "x" }),
    ]);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/1/attributes/sensitive", "/data/2/attributes/key", "/data/3/id"]);
    expect(details(answer).slice(0, 2)).toEqual([sensitiveSentence, takenSentence]);
    expect(await shown(stage.variable.id)).toEqual(stage.variable.attributes);
  });

  it("422: faults of the body alone: shapes, keys, a duplicate id, an empty list, no list", async () => {
    const { id } = stage.variable;
    const faulty = await patch([item({ id }, { key: "a-b", category: "env", hcl: "yes" }), item({ id }, { value: 1 })]);
    expect(pointers(faulty)).toEqual([
      "/data/0/attributes/hcl",
      "/data/0/attributes/key",
      "/data/1/id",
      "/data/1/attributes/value",
    ]);
    expect(details(faulty)).toContain(envSentence);
    for (const items of [[], {}, undefined, [{ type: "workspaces", id }], [{ type: "vars" }]])
      expect((await patch(items)).status, JSON.stringify(items)).toBe(422);
  });

  it("422: a key that another variable gives up in the same request", async () => {
    const other = data(await stage.create());
    const swap = [
      item(stage.variable, { key: other.attributes.key }),
      item(other, { key: stage.variable.attributes.key }),
    ];
    expect(pointers(await patch(swap))).toEqual(["/data/0/attributes/key", "/data/1/attributes/key"]);
  });

  it("422: a variable of another workspace", async () => {
    const parent = await stage.makeParent();
    const answer = await stage.org.owner.patch(`/workspaces/${parent.id}/relationships/vars`, {
      data: [item(stage.variable, { value: "x" })],
    });
    expect([answer.status, pointers(answer)]).toEqual([422, ["/data/0/id"]]);
  });

  it.each([
    ["read", 403],
    ["write", 204],
  ] as const)("with '%s' on the workspace: %i", async (level, status) => {
    const team = await api.makeTeam(stage.org.name);
    await api.grantWorkspace(stage.parent.id, team.id, level);
    const member = await api.makeMember(stage.org.name, [team.id]);
    expect((await patch([item(stage.variable, { value: "x" })], member)).status).toBe(status);
  });
});
