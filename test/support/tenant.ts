/** A whole tenant with one of everything, and the request that each operation of the API would make to it. */
import type { Operation } from "../../src/jsonapi/define.ts";
import { resources } from "../../src/resources/index.ts";
import type { Api, Caller, Json } from "./api.ts";
import {
  grantProject,
  inProject,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeProject,
  makeTeam,
  makeTeamToken,
  makeWorkspace,
  type Member,
  type Org,
  unique,
} from "./builders.ts";

export interface Tenant extends Org {
  readonly member: Member;
  readonly teamId: string;
  readonly projectId: string;
  /** What each path parameter stands for here. */
  readonly params: Readonly<Record<string, string>>;
  /** Everybody who can call: by kind. */
  readonly callers: Readonly<
    Record<"owner" | "member" | "team token" | "owners team token" | "organization token", Caller>
  >;
}

export async function makeTenant(api: Api): Promise<Tenant> {
  const org = await makeOrganization(api);
  const team = await makeTeam(api, org.name);
  const member = await makeMember(api, org.name, [team.id]);
  const project = await makeProject(api, org.name);
  await grantProject(api, org.id, project.id, team.id, "admin");
  const workspace = await makeWorkspace(
    api,
    org.name,
    {},
    { ...inProject(project.id), tags: { data: [{ type: "tags", attributes: { name: unique("tag") } }] } },
  );
  const tag: Json = (await org.owner.get(`/workspaces/${workspace.id}/relationships/tags`)).body.data[0];
  const callers = {
    owner: org.owner,
    member,
    "team token": await makeTeamToken(api, team.id),
    "owners team token": await makeTeamToken(api, org.ownersTeamId),
    "organization token": await makeOrganizationToken(api, org.name),
  };
  const token: Json = (await org.owner.get(`/teams/${team.id}/authentication-token`)).body.data;
  return {
    ...org,
    member,
    teamId: team.id,
    projectId: project.id,
    callers,
    params: {
      organization_name: org.name,
      project_id: project.id,
      team_id: team.id,
      user_id: member.id,
      membership_id: member.membershipId,
      token_id: token.id,
      workspace_id: workspace.id,
      workspace_name: workspace.attributes.name,
      tag_id: tag.id,
    },
  };
}

export interface Route {
  readonly id: string;
  readonly type: string;
  readonly operation: Operation;
}

export const routes: readonly Route[] = resources.flatMap(({ definition }) =>
  Object.entries(definition.operations).map(([id, operation]) => ({ id, type: definition.type, operation })),
);

/** The path of an operation with its parameters filled in. Fails for a parameter that no tenant has yet. */
export function pathOf(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replaceAll(/:([a-z_]+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`test/support/tenant.ts knows no ${name}; add one to the tenant`);
    return value;
  });
}

export const writes = (operation: Operation): boolean => operation.method !== "GET";
