/** Who may see and change the consumers of a workspace. The specification lists no 403: whoever may not gets 404. */
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  grantProject,
  grantWorkspace,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  type Org,
} from "../../../support/builders.ts";
import { consumersPath, link, makeSharing } from "./support.ts";

const api = useApi();

type MakeCaller = (org: Org, shared: Json, other: Json) => Promise<Caller>;

const onWorkspace =
  (level: "read" | "plan" | "write" | "admin"): MakeCaller =>
  async (org, shared, other) => {
    const team = await makeTeam(api, org.name);
    await grantWorkspace(api, org.id, shared.id, team.id, level);
    await grantWorkspace(api, org.id, other.id, team.id, "read");
    return makeMember(api, org.name, [team.id]);
  };

const onProject =
  (level: "read" | "write" | "maintain" | "admin"): MakeCaller =>
  async (org) => {
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, org.defaultProjectId, team.id, level);
    return makeTeamToken(api, team.id);
  };

const holding =
  (...permissions: string[]): MakeCaller =>
  (org) =>
    makeHolder(api, org.name, ...permissions);

const everything = [200, 204, 204, 204];
const admin = [200, 204, 404, 204];
const reader = [200, 404, 404, 404];
const nobody = [404, 404, 404, 404];

/** GET, POST, PATCH, DELETE. */
const cases: [string, MakeCaller, number[]][] = [
  ["a site admin", async () => api.admin, everything],
  ["an owner", async (org) => org.owner, everything],
  ["the owners team's token", (org) => makeTeamToken(api, org.ownersTeamId), everything],
  ["the organization's token", (org) => makeOrganizationToken(api, org.name), everything],
  ["manage-workspaces", holding("manage-workspaces"), everything],
  ["manage-projects", holding("manage-projects"), admin],
  ["read-workspaces", holding("read-workspaces"), reader],
  ["read-projects", holding("read-projects"), reader],
  ["project admin", onProject("admin"), admin],
  ["project maintain", onProject("maintain"), admin],
  ["project write", onProject("write"), reader],
  ["project read", onProject("read"), reader],
  ["workspace admin", onWorkspace("admin"), admin],
  ["workspace write", onWorkspace("write"), reader],
  ["workspace plan", onWorkspace("plan"), reader],
  ["workspace read", onWorkspace("read"), reader],
  ["a member without a grant", (org) => makeMember(api, org.name), nobody],
  ["another organization's owner", async () => (await makeOrganization(api)).owner, nobody],
  ["another organization's token", async () => makeOrganizationToken(api, (await makeOrganization(api)).name), nobody],
];

describe("GET, POST, PATCH and DELETE answer", () => {
  it.each(cases)("%s", async (_, makeCaller, expected) => {
    const { org, shared, others } = await makeSharing(api, 1);
    const caller = await makeCaller(org, shared, others[0]);
    const found: number[] = [];
    for (const method of ["GET", "POST", "PATCH", "DELETE"]) {
      const body = method === "GET" ? undefined : link(others[0]);
      found.push((await caller.send(method, consumersPath(shared), body)).status);
    }
    expect(found).toEqual(expected);
  });
});
