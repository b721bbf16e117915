/** The resources of a workspace's current state: addresses, pages, and the age of each resource. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data } from "../../../support/builders.ts";
import { managed, put, stateOf } from "../../../support/states.ts";
import { expectSent, uploadUrlOf, useStage } from "../state-versions/support.ts";

const api = useApi();
const stage = useStage(api);

const list = (query = "") => stage.owner.get(`${stage.path}/resources${query}`);
const listed = async (): Promise<Json[]> => data(await list("?page[size]=100"));
const byAddress = async (): Promise<Record<string, Json>> =>
  Object.fromEntries((await listed()).map((item) => [item.attributes.address, { id: item.id, ...item.attributes }]));

interface Block {
  readonly module?: string;
  readonly mode?: string;
  readonly type: string;
  readonly name: string;
  readonly provider?: string;
  readonly keys?: readonly unknown[];
}
const aws = 'provider["registry.terraform.io/hashicorp/aws"]';
const block = ({ keys = [undefined], mode = "managed", provider = aws, ...rest }: Block): object => ({
  mode,
  provider,
  ...rest,
  instances: keys.map((key) => ({
    ...(key !== undefined && { index_key: key }),
    schema_version: 0,
    attributes: { id: `i-${String(key)}` },
  })),
});

describe("listWorkspaceResources", () => {
  it("shows each with its address, type and provider", async () => {
    const version = await stage.write(
      stateOf({ resources: [block({ type: "aws_instance", name: "web", module: "module.app" })] }),
    );
    const [item] = await listed();
    expect(item).toEqual({
      id: expect.stringMatching(/^wsr-[A-Za-z0-9]{16}$/),
      type: "resources",
      attributes: {
        address: "app.aws_instance.web",
        name: "web",
        "name-index": null,
        module: "app",
        provider: "hashicorp/aws",
        "provider-type": "aws_instance",
        "modified-by-state-version-id": version.id,
        "created-at": version.attributes["created-at"],
        "updated-at": version.attributes["created-at"],
      },
      relationships: {
        workspace: {
          data: version.relationships.workspace.data,
          links: { related: `/api/v2/workspaces/${version.relationships.workspace.data.id}` },
        },
      },
    });
  });

  it.each<[string, Block, string[], (string | null)[], string, string]>([
    ["in the root module", { type: "t", name: "n" }, ["t.n"], [null], "root", "hashicorp/aws"],
    [
      "with count",
      { type: "t", name: "n", keys: [0, 1, 10] },
      ["t.n[0]", "t.n[10]", "t.n[1]"],
      ["0", "10", "1"],
      "root",
      "hashicorp/aws",
    ],
    [
      "with for_each",
      { type: "t", name: "n", keys: ["a", "b.c"] },
      ['t.n["a"]', 't.n["b.c"]'],
      ["a", "b.c"],
      "root",
      "hashicorp/aws",
    ],
    [
      "in a module in a module",
      { module: 'module.a["k"].module.b', type: "t", name: "n" },
      ['a["k"].b.t.n'],
      [null],
      'a["k"].b',
      "hashicorp/aws",
    ],
    [
      "with an alias of its provider",
      { type: "t", name: "n", provider: `${aws}.west` },
      ["t.n"],
      [null],
      "root",
      "hashicorp/aws",
    ],
    [
      "with a provider as it was written before 0.13",
      { type: "t", name: "n", provider: "provider.aws" },
      ["t.n"],
      [null],
      "root",
      "aws",
    ],
    [
      "with a provider of another registry",
      { type: "t", name: "n", provider: 'provider["example.com/acme/thing"]' },
      ["t.n"],
      [null],
      "root",
      "acme/thing",
    ],
  ])("%s", async (_, resource, addresses, indexes, module, provider) => {
    await stage.write(stateOf({ resources: [block(resource)] }));
    const found = (await listed()).map(({ attributes }) => attributes);
    expect(found.map(({ address }) => address).sort()).toEqual([...addresses].sort());
    expect(found.map((item) => item["name-index"]).sort()).toEqual([...indexes].sort());
    expect(new Set(found.map((item) => [item.module, item.provider, item["provider-type"]].join(" ")))).toEqual(
      new Set([`${module} ${provider} t`]),
    );
  });

  it("omits data sources and deposed instances", async () => {
    const deposed = { ...block({ type: "t", name: "old" }), instances: [{ deposed: "abcd", attributes: {} }] };
    const resources = [block({ type: "t", name: "read", mode: "data" }), deposed, block({ type: "t", name: "kept" })];
    await stage.write(stateOf({ resources }));
    expect(Object.keys(await byAddress())).toEqual(["t.kept"]);
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(1);
  });

  it("in pages, by address", async () => {
    await stage.write(stateOf({ resources: [managed("b", 23), managed("a", 2)] }));
    const first = await list();
    expect(data(first)).toHaveLength(20);
    expect(first.body.meta.pagination).toMatchObject({ "total-count": 25, "total-pages": 2, "next-page": 2 });
    const second = await list("?page[number]=2");
    expect(data(second)).toHaveLength(5);
    const addresses = [...data(first), ...data(second)].map(({ attributes }: Json) => attributes.address);
    expect(addresses).toEqual(addresses.toSorted());
    expect(new Set(addresses).size).toBe(25);
  });

  it("is empty without a state, while the first is intermediate, and after all was destroyed", async () => {
    expect(await listed()).toEqual([]);
    await stage.lock();
    await stage.sent(stateOf({ resources: [managed("a")] }));
    expect(await listed()).toEqual([]);
    await stage.unlock();
    expect(await listed()).toHaveLength(1);
    await stage.write(stateOf({ serial: 2 }));
    const answer = await list();
    expect([data(answer), answer.body.meta.pagination["total-count"]]).toEqual([[], 0]);
  });

  it("a duplicate address counts once", async () => {
    await stage.write(stateOf({ resources: [managed("a"), managed("a")] }));
    expect(await listed()).toHaveLength(1);
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(1);
  });
});

describe("from one version to the next", () => {
  const state = (serial: number, ...resources: object[]) => stateOf({ serial, resources });

  it("a resource that stays keeps its id and creation time; only a changed one has a new change time", async () => {
    const first = await stage.write(state(1, managed("same"), managed("changed", 1, { size: 1 }), managed("gone")));
    const before = await byAddress();
    await sleep(5);
    const second = await stage.write(state(2, managed("new"), managed("changed", 1, { size: 2 }), managed("same")));
    const after = await byAddress();
    expect(Object.keys(after)).toEqual(["null_resource.changed", "null_resource.new", "null_resource.same"]);
    expect(after["null_resource.same"]).toEqual(before["null_resource.same"]);
    const at = { first: first.attributes["created-at"], second: second.attributes["created-at"] };
    expect(at.first).not.toBe(at.second);
    expect(after["null_resource.changed"]).toEqual({
      ...before["null_resource.changed"],
      "updated-at": at.second,
      "modified-by-state-version-id": second.id,
    });
    expect(after["null_resource.new"]).toMatchObject({
      "created-at": at.second,
      "updated-at": at.second,
      "modified-by-state-version-id": second.id,
    });
  });

  it("over many versions, also several under one lock, and by upload", async () => {
    const first = await stage.write(state(1, managed("a")));
    const { id } = (await byAddress())["null_resource.a"];
    await stage.lock();
    await stage.sent(state(2, managed("a"), managed("b")));
    const changing = state(3, managed("a", 1, { changed: true }), managed("b"));
    const third = await stage.announce(changing);
    expectSent(await put(uploadUrlOf(third), changing));
    await stage.unlock();
    await stage.write(state(4, managed("a", 1, { changed: true }), managed("b")));
    expect((await byAddress())["null_resource.a"]).toMatchObject({
      id,
      "created-at": first.attributes["created-at"],
      "updated-at": third.attributes["created-at"],
      "modified-by-state-version-id": third.id,
    });
  });

  it.each(["in a request", "by upload"])(
    "even if a version between them was announced and never uploaded: %s",
    async (how) => {
      await stage.write(state(1, managed("a")));
      const before = await byAddress();
      await stage.lock();
      await stage.announce(state(2, managed("b")));
      const next = state(3, managed("a"));
      if (how === "by upload") expectSent(await put(uploadUrlOf(await stage.announce(next)), next));
      else await stage.sent(next);
      await stage.unlock();
      expect(await byAddress()).toEqual(before);
    },
  );

  it("a resource that was destroyed and created again has a new id", async () => {
    await stage.write(state(1, managed("a")));
    const { id } = (await byAddress())["null_resource.a"];
    await stage.write(state(2));
    await stage.write(state(3, managed("a")));
    expect((await byAddress())["null_resource.a"].id).not.toBe(id);
  });

  it("an instance that gets an index is another address", async () => {
    await stage.write(state(1, managed("a")));
    await stage.write(state(2, managed("a", 2)));
    expect(Object.keys(await byAddress())).toEqual(["null_resource.a[0]", "null_resource.a[1]"]);
  });
});

describe("what a workspace and a version show of them", () => {
  it("counts, by module, by provider and one by one", async () => {
    const google = 'provider["registry.terraform.io/hashicorp/google"]';
    const resources = [
      block({ type: "aws_instance", name: "web", keys: [0, 1] }),
      block({ type: "aws_instance", name: "db", module: "module.data" }),
      block({ type: "google_project", name: "p", provider: google, keys: ["a", "b", "c"] }),
      block({ type: "aws_ami", name: "image", mode: "data" }),
    ];
    const { id } = await stage.write(stateOf({ resources }));
    const { attributes } = await stage.show(id);
    expect(attributes).toMatchObject({
      "billable-rum-count": 6,
      "resources-processed": true,
      "engine-version": "1.9.5",
      "state-version": 4,
      modules: {
        root: { "aws-instance": 2, "google-project": 3, "data.aws-ami": 1 },
        data: { "aws-instance": 1 },
      },
      providers: { [aws]: { "aws-instance": 3, "data.aws-ami": 1 }, [google]: { "google-project": 3 } },
      resources: [
        { name: "web", type: "aws_instance", count: 2, module: "root", provider: aws },
        { name: "db", type: "aws_instance", count: 1, module: "data", provider: aws },
        { name: "p", type: "google_project", count: 3, module: "root", provider: google },
        { name: "image", type: "data.aws_ami", count: 1, module: "root", provider: aws },
      ],
    });
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(6);
    const workspaces = data(await stage.owner.get(`/organizations/${stage.org.name}/workspaces?page[size]=100`));
    const own = workspaces.find((item: Json) => item.id === stage.workspace.id);
    expect(own.attributes["resource-count"]).toBe(6);
  });

  it("whose addresses are too long for an index are left out of the list, and nothing fails", async () => {
    const part = () => randomBytes(450).toString("hex");
    const long = { ...managed(part()), module: `module.${part()}`, type: part() };
    const version = await stage.write(stateOf({ serial: 50, resources: [long, managed("short")] }), { force: true });
    expect(version.attributes["resources-processed"]).toBe(true);
    expect(data(await list()).map((item: Json) => item.attributes.name)).toEqual(["short"]);
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(1);
  });
});
