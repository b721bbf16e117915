/** listWorkspaceVarsetVars and showWorkspaceVarsetVar: a set's variables with what overwrites them in a workspace. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeTeam,
  makeTeamWorkspace,
  makeVarset,
  makeWorkspace,
  type Org,
  resource,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let workspace: Json;
beforeAll(async () => {
  org = await makeOrganization(api);
  workspace = await makeWorkspace(api, org.name);
});

const linked = () => ({ workspaces: { data: [{ type: "workspaces", id: workspace.id }] } });
const addTo = async (path: string, key: string, category = "terraform"): Promise<Json> =>
  data(await org.owner.post(path, resource("vars", { key, value: path, category })));
const varsOf = (set: Json) => `/varsets/${set.id}/relationships/vars`;
const seen = (set: Json) => `/workspaces/${workspace.id}${varsOf(set)}`;
const identifier = ({ id }: Json) => ({ id, type: "vars" });

describe("listWorkspaceVarsetVars, showWorkspaceVarsetVar", () => {
  it("200: by key, each with what is in force instead and what comes after it", async () => {
    const set = await makeVarset(api, org.name, {}, linked());
    const [priority, global] = [
      await makeVarset(api, org.name, { priority: true }, linked()),
      await makeVarset(api, org.name, { global: true }),
    ];
    const ours = await addTo(varsOf(set), "region");
    const alone = await addTo(varsOf(set), "alone");
    const own = await addTo(`/workspaces/${workspace.id}/vars`, "region");
    const first = await addTo(varsOf(priority), "region");
    const last = await addTo(varsOf(global), "region");
    await addTo(varsOf(priority), "region", "env");

    const listed = data(await org.owner.get(seen(set)));
    expect(listed.map(({ id }: Json) => id)).toEqual([alone.id, ours.id]);
    expect(listed[0].relationships).toMatchObject({ overwriter: { data: null }, overwritten: { data: [] } });
    expect(listed[1].relationships).toMatchObject({
      overwriter: { data: identifier(first) },
      overwritten: { data: [identifier(last)] },
    });
    expect(data(await org.owner.get(`${seen(set)}/${ours.id}`))).toEqual(listed[1]);
    expect(data(await org.owner.get(`${seen(priority)}/${first.id}`)).relationships).toMatchObject({
      overwriter: { data: null },
      overwritten: { data: [own, ours, last].map(identifier) },
    });
    expect(data(await org.owner.get(`${varsOf(set)}/${ours.id}`)).relationships.overwriter).toBeUndefined();
  });

  it("200: an empty set; a sensitive value stays hidden", async () => {
    const set = await makeVarset(api, org.name, {}, linked());
    expect(data(await org.owner.get(seen(set)))).toEqual([]);
    const secret = resource("vars", { key: "secret", value: "s3cret", category: "env", sensitive: true });
    const { id } = data(await org.owner.post(varsOf(set), secret));
    expect(data(await org.owner.get(seen(set)))[0].attributes.value).toBeNull();
    expect(data(await org.owner.get(`${seen(set)}/${id}`)).attributes.value).toBeNull();
  });

  it("404: a set that does not apply to the workspace, and a variable of another set", async () => {
    const elsewhere = await makeVarset(api, org.name);
    const variable = await addTo(varsOf(elsewhere), "region");
    const applied = await makeVarset(api, org.name, {}, linked());
    for (const path of [seen(elsewhere), `${seen(elsewhere)}/${variable.id}`, `${seen(applied)}/${variable.id}`])
      expect((await org.owner.get(path)).status, path).toBe(404);
  });

  it.each([
    ["read", 200],
    ["none", 403],
  ] as const)("with '%s' on the workspace's variables: %i", async (variables, status) => {
    const set = await makeVarset(api, org.name, {}, linked());
    const variable = await addTo(varsOf(set), "zone");
    const team = await makeTeam(api, org.name);
    await makeTeamWorkspace(api, workspace.id, team.id, { access: "custom", runs: "read", variables });
    const member = await makeMember(api, org.name, [team.id]);
    expect((await member.get(seen(set))).status).toBe(status);
    expect((await member.get(`${seen(set)}/${variable.id}`)).status).toBe(status);
  });
});
