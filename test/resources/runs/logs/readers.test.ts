/** A log URL works for the token that received it, as long as that can read the log. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { appendLog } from "../../../../src/resources/runs/phases/logs.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Member, type Org, resource } from "../../../support/builders.ts";
import { type StoredRun, storeRun, testVault } from "../../../support/phases.ts";

const api = useApi();
let org: Org;
let workspace: Json;
let run: StoredRun;
let team: Json;
let grantId: string;
let member: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
});

beforeEach(async () => {
  workspace = await api.makeWorkspace(org.name);
  run = await storeRun(api, workspace, org.id);
  await api.database.write((tx) => appendLog(tx, testVault, run.plan, 0, Buffer.from("line\n")));
  team = await api.makeTeam(org.name);
  grantId = (await api.makeTeamWorkspace(workspace.id, team.id, { access: "read" })).id;
  member = await api.makeMember(org.name, [team.id]);
});

const urlFor = async (caller: Caller): Promise<string> =>
  data(await caller.get(`/plans/${run.plan.id}`)).attributes["log-read-url"];

/** Reads like the CLI: with its own query, and without a token. */
const read = async (url: string): Promise<number> => (await fetch(`${url}?limit=65536&offset=0`)).status;

async function firstTokenOf({ id }: Member): Promise<string> {
  return data(await api.admin.get(`/users/${id}/authentication-tokens`))[0].id;
}

const setOrganization = async (attributes: object, name = org.name) =>
  data(await api.admin.patch(`/admin/organizations/${name}`, resource("organizations", attributes)));

describe("a log's URL", () => {
  it("is the same all day, differs between readers, and works for both", async () => {
    const url = await urlFor(member);
    expect(await urlFor(member)).toBe(url);
    const others = await urlFor(org.owner);
    expect(others).not.toBe(url);
    expect([await read(url), await read(others)]).toEqual([200, 200]);
  });

  it("stops working without access to the workspace, and works again with it", async () => {
    const [url, others] = [await urlFor(member), await urlFor(org.owner)];
    data(await api.admin.delete(`/team-workspaces/${grantId}`));
    expect(await read(url)).toBe(404);
    expect(await read(others)).toBe(200);
    await api.makeTeamWorkspace(workspace.id, team.id, { access: "read" });
    expect(await read(url)).toBe(200);
  });

  it("stops working for a user who has left the team or the organization", async () => {
    const other = await api.makeMember(org.name, [team.id]);
    const [url, others] = [await urlFor(member), await urlFor(other)];
    data(
      await api.admin.delete(`/teams/${team.id}/relationships/users`, {
        data: [{ type: "users", id: member.username }],
      }),
    );
    expect(await read(url)).toBe(404);
    data(await org.owner.delete(`/organization-memberships/${other.membershipId}`));
    expect(await read(others)).toBe(404);
  });

  it("stops working once the token is revoked, although the reader has another one", async () => {
    const url = await urlFor(member);
    const another = api.as(data(await member.post(`/users/${member.id}/authentication-tokens`)).attributes.token);
    data(await another.delete(`/authentication-tokens/${await tokenOf(url)}`));
    expect(await read(url)).toBe(403);
    expect(await read(await urlFor(another))).toBe(200);
  });

  it("stops working once the token has expired, and once its user is deleted", async () => {
    const url = await urlFor(member);
    const id = await firstTokenOf(member);
    const expire = (expiredAt: string | null) =>
      api.database.write((tx) => tx.db.updateTable("tokens").set({ expiredAt }).where("id", "=", id).execute());
    await expire(new Date(Date.now() - 1000).toISOString());
    expect(await read(url)).toBe(403);
    await expire(null);
    expect(await read(url)).toBe(200);
    expect((await api.admin.delete(`/admin/users/${member.id}`)).status).toBe(204);
    expect(await read(url)).toBe(403);
  });

  it("stops working for a team whose token was replaced", async () => {
    const url = await urlFor(await api.makeTeamToken(team.id));
    expect(await read(url)).toBe(200);
    await api.makeTeamToken(team.id);
    expect(await read(url)).toBe(403);
  });

  it("stops working in an organization that is disabled, or that refuses users' tokens", async () => {
    const url = await urlFor(member);
    await setOrganization({ "is-disabled": true });
    expect(await read(url)).toBe(404);
    await setOrganization({ "is-disabled": false });
    expect(await read(url)).toBe(200);
    await refuseUserTokens(1);
    expect(await read(url)).toBe(401);
    await refuseUserTokens(0);
    expect(await read(url)).toBe(200);
  });

  it("404: another reader's token in the URL, or none, as in old URLs", async () => {
    const [own, others] = [await urlFor(member), await urlFor(org.owner)];
    const [ownToken, othersToken] = [await tokenOf(own), await tokenOf(others)];
    expect(await read(own.replace(ownToken, othersToken))).toBe(404);
    expect(await read(own.replace(`.${ownToken}`, ""))).toBe(404);
    const expires = String(Date.now() + 3_600_000);
    const signature = testVault.sign(["GET", "logs", run.plan.id, expires].join("\n"));
    expect(await read(`${api.url}/api/v2/logs/${run.plan.id}.${expires}.${signature}`)).toBe(404);
  });
});

const tokenOf = async (url: string): Promise<string> => url.split("/logs/")[1]?.split(".")[1] ?? "";

const refuseUserTokens = (refused: 0 | 1) =>
  api.database.write((tx) =>
    tx.db
      .updateTable("organizations")
      .set({ userTokensEnabled: 1 - refused })
      .where("id", "=", org.id)
      .execute(),
  );
