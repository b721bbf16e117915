/** updateVars: several variables of a workspace in one request, all of them or none. */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, makeMember, makeTeam, grantWorkspace, pointers } from "../../../support/builders.ts";
import { envSentence, newKey, sensitiveSentence, takenSentence, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const item = ({ id }: Json, attributes?: object) => ({ type: "vars", id, ...(attributes && { attributes }) });
const patch = (items: unknown, caller = stage.org.owner) =>
  caller.patch(`${stage.homePath}/relationships/vars`, { data: items });
const shown = async (id: string): Promise<Json> => data(await stage.show(id)).attributes;

describe("updateVars", () => {
  it("204: changes what is sent, keeps what is not, and makes a new version of each", async () => {
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

  it("makes a value sensitive without showing it, and leaves an event for each that tells no value", async () => {
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

  it("422: the faults of all items, each at its place, and nothing is changed", async () => {
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

  it("422: what the body alone shows: shapes, rules of keys, an id twice, none, no list", async () => {
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

  it("422: a key can't be taken over from one that gives it up in the same request", async () => {
    const other = data(await stage.create());
    const swap = [
      item(stage.variable, { key: other.attributes.key }),
      item(other, { key: stage.variable.attributes.key }),
    ];
    expect(pointers(await patch(swap))).toEqual(["/data/0/attributes/key", "/data/1/attributes/key"]);
  });

  it("422: a variable of another workspace", async () => {
    const home = await stage.makeHome();
    const answer = await stage.org.owner.patch(`/workspaces/${home.id}/relationships/vars`, {
      data: [item(stage.variable, { value: "x" })],
    });
    expect([answer.status, pointers(answer)]).toEqual([422, ["/data/0/id"]]);
  });

  it.each([
    ["read", 403],
    ["write", 204],
  ] as const)("with '%s' on the workspace: %i", async (level, status) => {
    const team = await makeTeam(api, stage.org.name);
    await grantWorkspace(api, stage.org.id, stage.home.id, team.id, level);
    const member = await makeMember(api, stage.org.name, [team.id]);
    expect((await patch([item(stage.variable, { value: "x" })], member)).status).toBe(status);
  });
});
