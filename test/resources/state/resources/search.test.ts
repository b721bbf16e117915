/** GET /organizations/:organization_name/resources: the resources of all workspaces that the caller can read. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org } from "../../../support/builders.ts";
import { encryptedStateOf, stateAttributes, lock, post, stateOf, unlock, writeState } from "../../../support/states.ts";

const api = useApi();
let org: Org;
const ids: Record<string, string> = {};

const made = (type: string, name: string, provider = "aws", module?: string) => ({
  ...(module && { module }),
  mode: "managed",
  type,
  name,
  provider: `provider["registry.terraform.io/hashicorp/${provider}"]`,
  instances: [{ schema_version: 0, attributes: { id: name } }],
});

beforeAll(async () => {
  org = await api.makeOrganization();
  const project = await api.makeProject(org.name);
  const states: Record<string, object[]> = {
    network: [made("aws_vpc", "main"), made("aws_subnet", "a", "aws", "module.net")],
    service: [made("aws_instance", "web"), made("aws_vpc", "main"), made("null_resource", "x", "null")],
    secret: [made("aws_vpc", "hidden")],
  };
  for (const [name, resources] of Object.entries(states)) {
    const relationships = name === "service" ? inProject(project.id) : undefined;
    const { id } = await api.makeWorkspace(org.name, { name }, relationships);
    ids[name] = id;
    await writeState(org.owner, id, stateOf({ resources: resources ?? [] }));
  }
  ids["project"] = project.id;
});

async function list(query = "", caller: Caller = org.owner): Promise<{ labels: string[]; body: Json }> {
  const answer = await caller.get(`/organizations/${org.name}/resources${query}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const names = Object.fromEntries(Object.entries(ids).map(([name, id]) => [id, name]));
  const labels = answer.body.data.map(
    ({ attributes, relationships }: Json) => `${names[relationships.workspace.data.id]} ${attributes.address}`,
  );
  expect(answer.body.meta.pagination["total-count"]).toBeGreaterThanOrEqual(labels.length);
  return { labels, body: answer.body };
}

describe("listOrganizationResources", () => {
  it("200: of every workspace, by address", async () => {
    const { labels, body } = await list();
    expect(labels.toSorted()).toEqual([
      "network aws_vpc.main",
      "network net.aws_subnet.a",
      "secret aws_vpc.hidden",
      "service aws_instance.web",
      "service aws_vpc.main",
      "service null_resource.x",
    ]);
    const addresses = body.data.map(({ attributes }: Json) => attributes.address);
    expect(addresses).toEqual(addresses.toSorted());
    expect(body.meta.pagination["total-count"]).toBe(6);
    expect(body.data[0].type).toBe("resources");
    const backwards = (await list("?sort=-address")).labels;
    expect(backwards).toEqual(labels.toReversed());
  });

  it("by type, provider and module, and all of them together", async () => {
    expect((await list("?filter[type]=aws_vpc")).labels.toSorted()).toEqual([
      "network aws_vpc.main",
      "secret aws_vpc.hidden",
      "service aws_vpc.main",
    ]);
    expect((await list("?filter[provider]=hashicorp/null")).labels).toEqual(["service null_resource.x"]);
    expect((await list("?filter[module]=root")).labels).toHaveLength(5);
    const { labels, body } = await list("?filter[module]=net&filter[type]=aws_subnet&filter[provider]=hashicorp/aws");
    expect([labels, body.meta.pagination["total-count"]]).toEqual([["network net.aws_subnet.a"], 1]);
    expect((await list("?filter[type]=aws_moon")).body.meta.pagination["total-count"]).toBe(0);
  });

  it("by pages that neither overlap nor leave anything out", async () => {
    const all = (await list()).labels;
    const pages: string[] = [];
    for (let number = 1; number <= 4; number += 1) {
      const { labels, body } = await list(`?page[size]=2&page[number]=${number}`);
      pages.push(...labels);
      expect(body.meta.pagination["total-count"]).toBe(6);
    }
    expect(pages).toEqual(all);
  });

  it("only of workspaces that the caller can read, also in the total: by project, individually, or none", async () => {
    const team = (await api.makeTeam(org.name)).id;
    const member = await api.makeMember(org.name, [team]);
    const seen = async (query = "") => {
      const { labels, body } = await list(query, member);
      expect(body.meta.pagination["total-count"]).toBe(labels.length);
      return labels.toSorted();
    };
    expect(await seen()).toEqual([]);
    await api.grantProject(ids["project"] ?? "", team, "read");
    expect(await seen()).toEqual(["service aws_instance.web", "service aws_vpc.main", "service null_resource.x"]);
    await api.grantWorkspace(ids["network"] ?? "", team, "read");
    expect(await seen("?filter[type]=aws_vpc")).toEqual(["network aws_vpc.main", "service aws_vpc.main"]);
    expect(await seen("?filter[module]=net")).toEqual(["network net.aws_subnet.a"]);
    const page = await list("?page[size]=1&page[number]=2&sort=-address", member);
    expect([page.labels, page.body.meta.pagination["total-count"]]).toEqual([["network net.aws_subnet.a"], 5]);
    expect((await list("", await api.makeOrganizationToken(org.name))).labels).toHaveLength(6);
  });

  it("include=workspace includes each workspace once", async () => {
    const { body } = await list("?filter[type]=aws_vpc&include=workspace");
    expect(body.included.map(({ attributes }: Json) => attributes.name).toSorted()).toEqual([
      "network",
      "secret",
      "service",
    ]);
  });

  it("a resource that is too large for an index is stored, but listed only with its workspace", async () => {
    const own = await api.makeOrganization();
    const { id } = await api.makeWorkspace(own.name);
    // Three bytes each, and nothing in them repeats.
    const long = (from: number) =>
      String.fromCodePoint(...Array.from({ length: 290 }, (_, index) => from + ((index * 7919) % 9000)));
    const resources = [made("aws_vpc", long(0x4e00), "aws", `module.${long(0x7000)}`), made("aws_vpc", "short")];
    await writeState(own.owner, id, stateOf({ resources }));
    const count = async (path: string) => (await own.owner.get(path)).body.data.length;
    expect(await count(`/workspaces/${id}/resources`)).toBe(2);
    expect(await count(`/organizations/${own.name}/resources?filter[type]=aws_vpc`)).toBe(1);
  });

  it("covers only the current state: not one written under a lock, an earlier or an encrypted one", async () => {
    const own = await api.makeOrganization();
    const { id } = await api.makeWorkspace(own.name);
    const addresses = async () => {
      const { body } = await own.owner.get(`/organizations/${own.name}/resources`);
      const found = body.data.map(({ attributes }: Json) => attributes.address);
      expect(body.meta.pagination["total-count"]).toBe(found.length);
      return found;
    };
    await writeState(
      own.owner,
      id,
      stateOf({ serial: 1, resources: [made("aws_vpc", "old"), made("aws_vpc", "stays")] }),
    );
    await lock(own.owner, id);
    data(await post(own.owner, id, stateAttributes(stateOf({ serial: 2, resources: [made("aws_vpc", "stays")] }))));
    expect(await addresses()).toEqual(["aws_vpc.old", "aws_vpc.stays"]);
    await unlock(own.owner, id);
    expect(await addresses()).toEqual(["aws_vpc.stays"]);
    await writeState(own.owner, id, encryptedStateOf({ serial: 3 }));
    expect(await addresses()).toEqual([]);
    await writeState(own.owner, id, stateOf({ serial: 4, resources: [made("aws_vpc", "back")] }));
    expect(await addresses()).toEqual(["aws_vpc.back"]);
    expect((await own.owner.delete(`/workspaces/${id}`)).status).toBe(204);
    expect(await addresses()).toEqual([]);
  });
});
