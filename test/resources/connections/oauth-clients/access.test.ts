/** Who may see and change connections to version control, and their tokens. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  details,
  grantProject,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  type Org,
  resource,
} from "../../../support/builders.ts";
import { github, makeClient, tokenIdOf } from "./builders.ts";

const api = useApi();
let org: Org;
let client: Json;
beforeAll(async () => {
  org = await makeOrganization(api);
  client = await makeClient(org);
});

const lists = () => [`/organizations/${org.name}/oauth-clients`, `/organizations/${org.name}/oauth-tokens`];
const things = () => [
  `/oauth-clients/${client.id}`,
  `/oauth-clients/${client.id}/oauth-tokens`,
  `/oauth-tokens/${tokenIdOf(client)}`,
];
const create = (caller: Caller) =>
  caller.post(`/organizations/${org.name}/oauth-clients`, resource("oauth-clients", github));
const changes = async (caller: Caller): Promise<Answer[]> => [
  await caller.patch(`/oauth-clients/${client.id}`, resource("oauth-clients", { name: "mine" })),
  await caller.patch(`/oauth-tokens/${tokenIdOf(client)}`, resource("oauth-tokens", { "ssh-key": null })),
  await caller.delete(`/oauth-tokens/${tokenIdOf(client)}`),
  await caller.delete(`/oauth-clients/${client.id}`),
];
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);
const reads = (caller: Caller, paths: readonly string[]) => Promise.all(paths.map((path) => caller.get(path)));

describe("writers", () => {
  it("are owners, teams with 'manage-vcs-settings' and the organization's token", async () => {
    const holder = await makeHolder(api, org.name, "manage-vcs-settings");
    const callers = [
      holder,
      await makeTeamToken(api, holder.teamId),
      await makeOrganizationToken(api, org.name),
      org.owner,
      api.admin,
    ];
    for (const caller of callers) {
      expect(statuses(await reads(caller, [...lists(), ...things()]))).toEqual([200, 200, 200, 200, 200]);
      expect((await create(caller)).status).toBe(201);
      expect(statuses(await changes(caller))).toEqual([200, 200, 204, 204]);
      client = await makeClient(org);
    }
  });
});

describe("readers", () => {
  it.each(["manage-workspaces", "manage-projects"])("are teams with '%s'; they get 403 for changes", async (name) => {
    const holder = await makeHolder(api, org.name, name);
    expect(statuses(await reads(holder, [...lists(), ...things()]))).toEqual([200, 200, 200, 200, 200]);
    const refused = [await create(holder), ...(await changes(holder))];
    expect(statuses(refused)).toEqual([403, 403, 403, 403, 403]);
    for (const answer of refused) expect(details(answer)[0]).toContain("'manage-vcs-settings' (can-update-oauth)");
  });
});

describe("other members", () => {
  it("get 403 for the lists, and 404 for what is in them", async () => {
    const holder = await makeHolder(api, org.name, "read-workspaces", "manage-agent-pools", "manage-teams");
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, org.defaultProjectId, team.id, "admin");
    const callers = [await makeMember(api, org.name), holder, await makeMember(api, org.name, [team.id])];
    for (const caller of callers) {
      const listed = await reads(caller, lists());
      expect(statuses(listed)).toEqual([403, 403]);
      expect(details(listed[0] as Answer)[0]).toContain(
        "'manage-vcs-settings', 'manage-workspaces' or 'manage-projects'",
      );
      expect(statuses(await reads(caller, things()))).toEqual([404, 404, 404]);
      expect((await create(caller)).status).toBe(403);
      expect(statuses(await changes(caller))).toEqual([404, 404, 404, 404]);
    }
  });
});

describe("strangers", () => {
  it("get 404 everywhere", async () => {
    const stranger = (await makeOrganization(api)).owner;
    expect(statuses(await reads(stranger, [...lists(), ...things()]))).toEqual([404, 404, 404, 404, 404]);
    expect((await create(stranger)).status).toBe(404);
    expect(statuses(await changes(stranger))).toEqual([404, 404, 404, 404]);
  });
});
