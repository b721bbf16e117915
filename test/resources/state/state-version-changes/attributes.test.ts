/** GET /state-versions/:state_version_id/changes: a changed resource, attribute by attribute, without secrets. */
import { createHook } from "node:async_hooks";
import { beforeAll, describe, expect, it } from "vitest";
import { SensitiveMarks } from "../../../../src/resources/state/state-version-changes/marks.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org } from "../../../support/builders.ts";
import { expectLinear } from "../../../support/growth.ts";
import {
  pendingStateAttributes,
  lock,
  post,
  put,
  stateOf,
  stateOfSize,
  unlock,
  writeState,
} from "../../../support/states.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const provider = 'provider["registry.terraform.io/hashicorp/aws"]';

/** One resource; `sensitive` are the paths that the engine marks. */
const instance = (type: string, attributes: object, sensitive: object[][] = [], more: object = {}) => ({
  mode: "managed",
  type,
  name: "one",
  provider,
  instances: [{ schema_version: 0, attributes, sensitive_attributes: sensitive, ...more }],
});
const attribute = (value: string) => ({ type: "get_attr", value });

/** The changes of a resource from its first state to its second one. */
async function compared(before: object, after: object): Promise<{ changes: Json; text: string }> {
  const workspaceId = (await makeWorkspace(api, org.name)).id;
  await writeState(org.owner, workspaceId, stateOf({ serial: 1, resources: [before] }));
  const version = await writeState(org.owner, workspaceId, stateOf({ serial: 2, resources: [after] }));
  const answer = await org.owner.get(`/state-versions/${version.id}/changes`);
  return { changes: data(answer)[0]?.attributes["attribute-changes"], text: JSON.stringify(answer.body) };
}

const shown = (path: string, change: string, before: unknown, after: unknown) => ({
  path,
  change,
  sensitive: false,
  "too-large": false,
  before,
  after,
});
const hidden = (path: string, change = "changed") => ({ ...shown(path, change, null, null), sensitive: true });

describe("listStateVersionChanges: attribute-changes", () => {
  it("each attribute that differs, by its path, with both values", async () => {
    const { changes } = await compared(
      instance("aws_instance", {
        id: "i-1",
        size: "small",
        tags: { a: "1", "b c": "2" },
        ports: [80, 443],
        gone: true,
      }),
      instance("aws_instance", {
        id: "i-1",
        size: "large",
        tags: { a: "1", "b c": "3" },
        ports: [80, 8443, 9],
        new: 1,
      }),
    );
    expect(changes).toEqual([
      shown("gone", "removed", true, null),
      shown("new", "added", null, 1),
      shown("ports[1]", "changed", 443, 8443),
      shown("ports[2]", "added", null, 9),
      shown("size", "changed", "small", "large"),
      shown('tags["b c"]', "changed", "2", "3"),
    ]);
  });

  it("null where the resource was added or removed; empty where only what is around the attributes differs", async () => {
    const workspaceId = (await makeWorkspace(api, org.name)).id;
    const first = await writeState(
      org.owner,
      workspaceId,
      stateOf({ resources: [instance("aws_instance", { id: "i-1" })] }),
    );
    const [added] = data(await org.owner.get(`/state-versions/${first.id}/changes`));
    expect(added.attributes).toMatchObject({ change: "added", "attribute-changes": null });
    const { changes } = await compared(
      instance("aws_instance", { id: "i-1" }),
      instance("aws_instance", { id: "i-1" }, [], { status: "tainted" }),
    );
    expect(changes).toEqual([]);
  });

  it("a value that either state marks as sensitive is hidden in both, with everything around and inside it", async () => {
    const marked = await compared(
      instance("aws_db", { login: "hush-1", deep: { key: "hush-2", open: 1 }, whole: { part: "hush-3" } }, [
        [attribute("login")],
        [attribute("deep"), { type: "index", value: { value: "key", type: "string" } }],
      ]),
      instance("aws_db", { login: "hush-4", deep: { key: "hush-5", open: 2 }, whole: "hush-6" }, [
        [attribute("whole"), attribute("part")],
      ]),
    );
    expect(marked.changes).toEqual([
      hidden("deep.key"),
      shown("deep.open", "changed", 1, 2),
      hidden("login"),
      hidden("whole"),
    ]);
    expect(marked.text).not.toContain("hush");
  });

  it("a value whose name or resource type looks secret is hidden too", async () => {
    const named = await compared(
      instance("aws_db", { master_password: "hush-1", conf: { api_token: "hush-2" }, size: 1 }),
      instance("aws_db", { master_password: "hush-3", conf: "hush-4", size: 2 }),
    );
    expect(named.changes).toEqual([hidden("conf"), hidden("master_password"), shown("size", "changed", 1, 2)]);
    const typed = await compared(
      instance("random_password", { result: "hush-5" }),
      instance("random_password", { result: "hush-6" }),
    );
    expect(typed.changes).toEqual([hidden("result")]);
    expect(named.text + typed.text).not.toContain("hush");
  });

  it("secrets by the names that providers and people give them; not what only looks like one", async () => {
    const secret =
      "passphrase DB_PASS pwd psk tunnel1_preshared_key shared_key client_key client-key primary_key secondary_key " +
      "account_key signing_key kube_config kube_config_raw custom_data jwt dsn key_pem";
    const open = "bypass_rules fieldsName kms_key_id public_key size";
    const all = [...secret.split(" "), ...open.split(" ")].sort();
    const of = (value: string) => instance("aws_x", Object.fromEntries(all.map((name) => [name, `${value}-${name}`])));
    const { changes, text } = await compared(of("old"), of("new"));
    const namesOf = (sensitive: boolean) =>
      changes.filter((each: Json) => each.sensitive === sensitive).map(({ path }: Json) => path);
    expect(namesOf(false)).toEqual(open.split(" "));
    expect(namesOf(true)).toHaveLength(all.length - open.split(" ").length);
    for (const name of secret.split(" ")) expect(text).not.toMatch(`old-${name}`);
  });

  it("flat attributes of old engines are hidden if anything is marked, and shown otherwise", async () => {
    const mark = [[attribute("a"), attribute("b")]];
    const flat = (value: string, marks: object[][]) =>
      instance("aws_x", {}, marks, { attributes: undefined, attributes_flat: { "a.b": value } });
    const nested = instance("aws_x", { a: { b: "hush-3" } }, mark);
    for (const [before, after] of [
      [flat("hush-1", mark), flat("hush-2", [])],
      [flat("hush-1", []), nested],
    ] as const) {
      const { changes, text } = await compared(before, after);
      expect(changes[0]).toMatchObject({ sensitive: true });
      expect(text).not.toContain("hush");
    }
    const { changes } = await compared(flat("1", []), flat("2", []));
    expect(changes).toEqual([shown('["a.b"]', "changed", "1", "2")]);
  });

  it("marks that can't be read hide everything", async () => {
    const { changes, text } = await compared(
      instance("aws_db", { login: "hush-1" }, [[{ type: "splat" }]]),
      instance("aws_db", { login: "hush-2" }),
    );
    expect(changes).toEqual([hidden("login")]);
    expect(text).not.toContain("hush");
  });

  it("numbers are compared digit by digit, and names that JavaScript knows are only names", async () => {
    const workspaceId = (await makeWorkspace(api, org.name)).id;
    const of = (serial: number, number: string) =>
      stateOf({ serial, resources: [instance("aws_x", { big: "BIG", constructor: serial })] }).replace('"BIG"', number);
    await writeState(org.owner, workspaceId, of(1, "9007199254740993"));
    const version = await writeState(org.owner, workspaceId, of(2, "9007199254740992"));
    const [change] = data(await org.owner.get(`/state-versions/${version.id}/changes`));
    expect(change.attributes["attribute-changes"].map(({ path }: Json) => path)).toEqual(["big", "constructor"]);
    expect(change.attributes["attribute-changes"][0].before).toBe("9007199254740993");
  });

  it("marks a value that is too long", async () => {
    const { changes } = await compared(
      instance("aws_x", { text: "a" }),
      instance("aws_x", { text: "b".repeat(30_000), other: 1 }),
    );
    expect(changes[1]).toEqual({ ...shown("text", "changed", null, null), "too-large": true });
  });

  itInGate("compares a large state only by resource", async () => {
    const workspaceId = (await makeWorkspace(api, org.name)).id;
    const first = await writeState(org.owner, workspaceId, stateOf({ resources: [instance("aws_x", { size: "s" })] }));
    const large = stateOfSize(33 * 1024 * 1024, { serial: 2, resources: [instance("aws_x", { size: "l" })] });
    await lock(org.owner, workspaceId);
    const version = data(await post(org.owner, workspaceId, pendingStateAttributes(large)));
    expect((await put(version.attributes["hosted-state-upload-url"], large)).status).toBe(204);
    await unlock(org.owner, workspaceId);
    const [change] = data(
      await org.owner.get(`/state-versions/${version.id}/changes?since=${first.id}&filter[change]=changed`),
    );
    expect(change.attributes).toMatchObject({ change: "changed", address: "aws_x.one", "attribute-changes": null });
  });
});

describe("listStateVersionChanges: a state made to take long", () => {
  itInGate("twice as many marks and attributes take about twice as long", async () => {
    const pathsOf = (size: number, name: string) =>
      Array.from({ length: size / 16 }, (_, index) => ["a", `${name}${index}`]);
    const work = (size: number) => {
      const marks = new SensitiveMarks(pathsOf(size, "marked"));
      expect(pathsOf(size, "open").some((path) => marks.isHidden(path))).toBe(false);
      expect(pathsOf(size, "marked").every((path) => marks.isHidden(path))).toBe(true);
    };
    await expectLinear("marks", work, 256 * 1024);
  });

  it("others have a turn between two resources of a page", async () => {
    const workspaceId = (await makeWorkspace(api, org.name)).id;
    const all = (size: string) =>
      Array.from({ length: 40 }, (_, index) => ({ ...instance("aws_x", { size }), name: `r${index}` }));
    await writeState(org.owner, workspaceId, stateOf({ serial: 1, resources: all("s") }));
    const version = await writeState(org.owner, workspaceId, stateOf({ serial: 2, resources: all("l") }));
    const turnsFor = async (size: number) => {
      let turns = 0;
      const hook = createHook({ init: (_, type) => void (turns += Number(type === "Immediate")) }).enable();
      const listed = data(await org.owner.get(`/state-versions/${version.id}/changes?page[size]=${size}`));
      hook.disable();
      expect(listed).toHaveLength(size);
      return turns;
    };
    expect((await turnsFor(40)) - (await turnsFor(1))).toBeGreaterThan(20);
  });
});
