/** Counts the statements of requests, in a small tenant and in one with more than a page of everything. */
import type { Api, Caller } from "./api.ts";
import { grantProject, makeMember, makeProject, makeTeam, makeVarset, resource } from "./builders.ts";
import { makeRequest } from "./access-requests.ts";
import { projectGrant } from "./previews.ts";
import { change } from "./database.ts";
import { runsEverything } from "./engine-independent.ts";
import { makeTenant, pathOf, type Route, type Tenant, withQuery } from "./tenant.ts";

/** How many of each resource the large tenant has: more than a page, if it is compared with the small one. */
const many = runsEverything ? 21 : 2;

export async function makeSmallTenant(api: Api): Promise<Tenant> {
  const small = await makeTenant(api);
  await addProjectOfClient(small, small.params["project_id"] ?? "");
  return small;
}

export async function makeLargeTenant(api: Api): Promise<Tenant> {
  const large = await makeTenant(api);
  for (let count = 0; count < many; count += 1) {
    const team = await makeTeam(api, large.name);
    await makeMember(api, large.name, [team.id, large.teamId]);
    const project = await makeProject(api, large.name);
    await grantProject(api, large.id, project.id, large.teamId, "admin");
    await api.admin.post(`/teams/${team.id}/relationships/organization-memberships`, {
      data: [{ type: "organization-memberships", id: large.member.membershipId }],
    });
    await large.member.post(`/users/${large.member.id}/authentication-tokens`);
    const variable = resource("vars", { key: `key-${count}`, category: "terraform", value: "a value" });
    await large.member.post(`/workspaces/${large.params["workspace_id"]}/vars`, variable);
    const set = `/varsets/${large.params["varset_id"]}/relationships`;
    await large.owner.post(`${set}/vars`, variable);
    await large.owner.post(`${set}/projects`, { data: [{ type: "projects", id: project.id }] });
    await makeVarset(api, large.name, { global: true });
    await addProjectOfClient(large, project.id);
    const token = resource("agent-tokens", { description: `token-${count}` });
    await large.owner.post(`/agent-pools/${large.params["agent_pool_id"]}/authentication-tokens`, token);
    await makeRequest(large.member, large.name, [projectGrant("read", team.id, large.projectId)]);
  }
  return large;
}

async function addProjectOfClient({ owner, params }: Tenant, id: string): Promise<void> {
  const projects = { data: [{ type: "projects", id }] };
  await owner.post(`/oauth-clients/${params["oauth_client_id"]}/relationships/projects`, projects);
}

export async function countStatements(
  api: Api,
  caller: Caller,
  route: Route,
  tenant: Tenant,
  query = "",
): Promise<{ statements: number; status: number }> {
  await change(api.database);
  const before = api.database.statementCount();
  const answer = await caller.send(
    route.operation.method,
    withQuery(pathOf(route.operation, tenant.params), query),
    route.operation.example,
  );
  return { statements: api.database.statementCount() - before, status: answer.status };
}
