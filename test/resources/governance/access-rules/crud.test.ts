/** Creating, reading, changing and deleting access rules over HTTP. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { createRule, everything, makeRule } from "./support.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const rules = () => `/organizations/${org.name}/access-rules`;
const patch = (id: string, attributes: object, headers = {}) =>
  org.owner.send("PATCH", `/access-rules/${id}`, resource("access-rules", attributes), headers);

describe("createAccessRule", () => {
  it("201 with the rule, and an audit event", async () => {
    const answer = await createRule(org, { name: "No grants", policy: everything, enabled: false });
    expect(answer.status).toBe(201);
    const { id, attributes } = answer.body.data;
    expect(id).toMatch(/^arul-/);
    expect(attributes).toMatchObject({
      name: "No grants",
      description: null,
      policy: everything,
      enforcement: "forbid",
      enabled: false,
    });
    expect(data(await org.owner.get(`/access-rules/${id}`))).toEqual(answer.body.data);
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject]=${id}`));
    expect(JSON.stringify(events)).toContain("access-rules.create");
  });

  it.each(["", " "])("422: a blank name (%j)", async (name) => {
    const answer = await createRule(org, { name, enabled: false });
    expect([answer.status, pointers(answer)]).toEqual([422, ["/data/attributes/name"]]);
  });

  it("422: a name that is taken, ignoring case", async () => {
    const name = unique("taken");
    await makeRule(org, { name, enabled: false });
    const answer = await createRule(org, { name: name.toUpperCase(), enabled: false });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/name"]);
  });

  it.each([
    ["nothing", "// a comment", "must contain exactly one policy, not 0"],
    ["several policies", `${everything}\n${everything}`, "must contain exactly one policy, not 2"],
    ["a permit", "permit (principal, action, resource);", "must be a `forbid` policy"],
    ["a template", "forbid (principal == ?principal, action, resource);", "must not be a template"],
    ["a syntax error", "forbid (principal, action,\n  resource", "at line 2, column 11: "],
    [
      "an unknown attribute",
      'forbid (principal, action, resource)\nwhen { context.color == "red" };',
      "at line 2, column 8: ",
    ],
    ["an unknown entity", 'forbid (principal == Robot::"a", action, resource);', "did you mean"],
    [
      "an optional attribute without a test",
      'forbid (principal, action, resource) when { context.team.name == "a" };',
      "context has team",
    ],
    [
      "a tag without a test",
      'forbid (principal, action, resource is Project) when { resource.getTag("env") == "prod" };',
      "tag",
    ],
    [
      "a message with a character that can't be stored",
      `@message("a\\0b") ${everything}`,
      "has a @message with a character that can't be stored (U+0000)",
    ],
    ["more than 16 KiB", `// ${"x".repeat(16_384)}\n${everything}`, "too long"],
    ["more than 16 KiB of bytes", `// ${"é".repeat(8_200)}\n${everything}`, "maximum is 16384 bytes"],
  ])("422: %s", async (_, policy, sentence) => {
    const answer = await createRule(org, { policy });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toContain("/data/attributes/policy");
    expect(details(answer).join(" ")).toContain(sentence);
  });

  it("409 beyond 50 rules", async () => {
    const full = await api.makeOrganization();
    for (let count = 0; count < 50; count += 1) await makeRule(full, { enabled: false });
    const answer = await createRule(full, { enabled: false });
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toContain("50 access rules");
  });

  it("403 for a member, 404 for others", async () => {
    const body = resource("access-rules", { name: unique("rule"), policy: everything, enforcement: "forbid" });
    expect((await (await api.makeMember(org.name)).post(rules(), body)).status).toBe(403);
    expect((await (await api.makeOrganization()).owner.post(rules(), body)).status).toBe(404);
  });
});

describe("hostile policies", () => {
  const inWhen = (expression: string) => `forbid (principal, action, resource) when { ${expression} };`;
  const deep = 10_000;

  it.each([
    ["a megabyte", "x".repeat(1_000_000)],
    ["10,000 brackets", inWhen("(".repeat(deep))],
    ["8,000 brackets that match", inWhen(`${"(".repeat(8_000)}true${")".repeat(8_000)}`)],
    ["40 brackets", inWhen(`${"(".repeat(40)}true${")".repeat(40)}`)],
    ["sets in sets", inWhen(`${"[".repeat(150)}1${"]".repeat(150)} == [1]`)],
    ["a long chain of operators", inWhen(`${"context.approved || ".repeat(700)}true`)],
    ["a long sum", inWhen(`${"1 + ".repeat(3_900)}1 == 3`)],
    ["sums in brackets", inWhen(`${"(".repeat(4)}1${`${"+1".repeat(100)})`.repeat(4)} == 2`)],
    ["many conditions", `forbid (principal, action, resource) ${"when{context.approved}".repeat(700)};`],
    ["nested conditionals", inWhen(`${"if context.approved then ".repeat(300)}true${" else false".repeat(300)}`)],
    ["a long path", inWhen(`context${".a".repeat(8_000)}`)],
    ["an endless string", inWhen(`"${"\\".repeat(9_999)}`)],
    ["control characters", "\u0000\u0007\ud800"],
    ["what follows a carriage return in a comment", `//\r${inWhen(`[${"1,".repeat(5_000)}1].contains(1)`)}`],
    ["a set of 5,000 numbers", inWhen(`[${"1,".repeat(5_000)}1].contains(1)`)],
    ["a string that takes long to match", inWhen(`"${"a".repeat(10_000)}" like "*${"a".repeat(900)}b"`)],
    [
      "many patterns",
      inWhen(`[${`principal is User && principal.email like "*${"a".repeat(90)}b",`.repeat(99)}true].contains(true)`),
    ],
  ])("422: %s, and the engine still works", async (_, policy) => {
    expect((await createRule(org, { policy })).status).toBe(422);
    expect((await createRule(org, { enabled: false })).status).toBe(201);
  });

  it.each([
    ["16 KiB of ids", inWhen(`resource in [${'Project::"prj-1234567890abcdef",'.repeat(505)}]`.replace(",]", "]"))],
    ["a long comment", `// ${"x ".repeat(8_000)}\n${everything}`],
    ["a long description", `@description("${"x ".repeat(4_000)}") ${everything}`],
  ])("201: %s", async (_, policy) => {
    expect((await createRule(org, { policy, enabled: false })).status).toBe(201);
  });
});

describe("updateAccessRule", () => {
  it("changes each attribute, and leaves out what is absent", async () => {
    const { id, attributes } = await makeRule(org, { enabled: false });
    for (const change of [
      { name: unique("renamed") },
      { description: "agreed" },
      { description: null },
      { policy: 'forbid (principal, action == Action::"grant", resource);' },
      { enforcement: "advise" },
      { enabled: false },
    ]) {
      Object.assign(attributes, change);
      expect(data(await patch(id, change)).attributes).toEqual({ ...attributes, "updated-at": expect.any(String) });
    }
  });

  it("412 with an old ETag, 422 with an invalid policy or a taken name", async () => {
    const { id } = await makeRule(org, { enabled: false });
    const other = await makeRule(org, { enabled: false });
    const { headers } = await org.owner.get(`/access-rules/${id}`);
    data(await patch(id, { description: "x" }));
    expect((await patch(id, { description: "y" }, { "if-match": headers.get("etag") ?? "" })).status).toBe(412);
    expect((await patch(id, { policy: "permit (principal, action, resource);" })).status).toBe(422);
    expect((await patch(id, { name: other.attributes.name })).status).toBe(422);
  });

  it("403 for a member, 404 for others, also with an invalid policy", async () => {
    const { id } = await makeRule(org, { enabled: false });
    const body = resource("access-rules", { policy: "x" });
    const member = await api.makeMember(org.name);
    const stranger = (await api.makeOrganization()).owner;
    for (const [caller, status] of [
      [member, 403],
      [stranger, 404],
    ] as const) {
      expect((await caller.patch(`/access-rules/${id}`, body)).status).toBe(status);
      expect((await caller.get(`/access-rules/${id}`)).status).toBe(status);
      expect((await caller.delete(`/access-rules/${id}`)).status).toBe(status);
      expect((await caller.get(rules())).status).toBe(status);
    }
  });
});

describe("deleteAccessRule, listAccessRules, showAccessRuleSchema", () => {
  it("204, then 404", async () => {
    const { id } = await makeRule(org, { enabled: false });
    expect((await org.owner.delete(`/access-rules/${id}`)).status).toBe(204);
    expect((await org.owner.get(`/access-rules/${id}`)).status).toBe(404);
  });

  it("lists by name", async () => {
    const listed = await api.makeOrganization();
    for (const name of ["b", "A", "c"]) await makeRule(listed, { name, enabled: false });
    const shown = data(await listed.owner.get(`/organizations/${listed.name}/access-rules?page[size]=2`));
    expect(shown.map(({ attributes }: { attributes: { name: string } }) => attributes.name)).toEqual(["A", "b"]);
  });

  it("any member can read the schema as text", async () => {
    const answer = await (await api.makeMember(org.name)).get(`${rules()}/schema`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });
});
