/** Things that tests need, made with sensible values, nearly all over HTTP; each takes only what the test is about. */
import { randomBytes } from "node:crypto";
import type { ProjectLevel, WorkspaceLevel } from "../../src/access/levels.ts";
import { addToken } from "../../src/resources/identity/authentication-tokens/writes.ts";
import { addUser } from "../../src/resources/identity/users/writes.ts";
import { operatorContext } from "../../src/service.ts";
import { type Answer, type Api, type Caller, type Json } from "./api.ts";

export const unique = (prefix: string) => `${prefix}-${randomBytes(5).toString("hex")}`;

/** The document of an answer that must be a success; tells what was answered when it is not. */
export function data(answer: Answer): Json {
  if (answer.status >= 300) throw new Error(`expected success, got ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body?.data;
}

export const resource = (type: string, attributes: object, relationships?: object) => ({
  data: { type, attributes, ...(relationships && { relationships }) },
});

export interface Person extends Caller {
  readonly id: string;
  readonly username: string;
  readonly email: string;
}

/** A user with a token. A plain one comes by the command line's way, because tests make hundreds; one with attributes over HTTP. */
export async function makeUser(api: Api, attributes: object = {}): Promise<Person> {
  const username = unique("user");
  const email = `${username}@example.com`;
  if (Object.keys(attributes).length === 0) {
    const context = operatorContext(api.database, { organizationCreation: "site-admins" }, "test");
    const [user, { secret }] = await api.database.write(async (tx) => {
      const added = await addUser(tx, context, { username, email });
      return [added, await addToken(tx, context, { holder: { kind: "user", userId: added.id }, isLegacy: false })];
    });
    return { ...api.as(secret), id: user.id, username, email };
  }
  const user = data(await api.admin.post("/admin/users", resource("users", { username, email, ...attributes })));
  const token = data(await api.admin.post(`/users/${user.id}/authentication-tokens`));
  return {
    ...api.as(token.attributes.token),
    id: user.id,
    username: user.attributes.username,
    email: user.attributes.email,
  };
}

export interface Org {
  readonly name: string;
  readonly id: string;
  readonly defaultProjectId: string;
  /** A person of the owners team. */
  readonly owner: Person;
  readonly ownersTeamId: string;
}

/** An organization with one owner who is not a site admin. */
export async function makeOrganization(api: Api, attributes: object = {}): Promise<Org> {
  const name = unique("org");
  const organization = data(
    await api.admin.post(
      "/organizations",
      resource("organizations", { name, email: "org@example.com", ...attributes }),
    ),
  );
  const id: string = organization.attributes["external-id"];
  const { id: ownersTeamId } = await api.database.reader.db
    .selectFrom("teams")
    .select("id")
    .where("organizationId", "=", id)
    .where("isOwners", "=", 1)
    .executeTakeFirstOrThrow();
  const owner = await makeMember(api, organization.id, [ownersTeamId]);
  return {
    name: organization.id,
    id,
    defaultProjectId: organization.relationships["default-project"].data.id,
    owner,
    ownersTeamId,
  };
}

export interface Member extends Person {
  readonly membershipId: string;
}

/** A person who is a member, in these teams. */
export async function makeMember(api: Api, organizationName: string, teamIds: readonly string[] = []): Promise<Member> {
  const person = await makeUser(api);
  const membership = data(
    await api.admin.post(
      `/organizations/${organizationName}/organization-memberships`,
      resource(
        "organization-memberships",
        { email: person.email },
        { teams: { data: teamIds.map((id) => ({ type: "teams", id })) } },
      ),
    ),
  );
  return { ...person, membershipId: membership.id };
}

export async function makeTeam(api: Api, organizationName: string, attributes: object = {}): Promise<Json> {
  return data(
    await api.admin.post(
      `/organizations/${organizationName}/teams`,
      resource("teams", { name: unique("team"), visibility: "organization", ...attributes }),
    ),
  );
}

/** A member of a new team that holds these organization-level permissions. */
export async function makeHolder(
  api: Api,
  organizationName: string,
  ...permissions: string[]
): Promise<Member & { teamId: string }> {
  const team = await makeTeam(api, organizationName, {
    "organization-access": Object.fromEntries(permissions.map((name) => [name, true])),
  });
  return { ...(await makeMember(api, organizationName, [team.id])), teamId: team.id };
}

export async function makeTeamToken(api: Api, teamId: string): Promise<Caller> {
  return api.as(data(await api.admin.post(`/teams/${teamId}/authentication-token`)).attributes.token);
}

export async function makeOrganizationToken(api: Api, organizationName: string): Promise<Caller> {
  return api.as(data(await api.admin.post(`/organizations/${organizationName}/authentication-token`)).attributes.token);
}

export async function makeProject(api: Api, organizationName: string, attributes: object = {}): Promise<Json> {
  return data(
    await api.admin.post(
      `/organizations/${organizationName}/projects`,
      resource("projects", { name: unique("project"), ...attributes }),
    ),
  );
}

export async function makeWorkspace(
  api: Api,
  organizationName: string,
  attributes: object = {},
  relationships?: object,
): Promise<Json> {
  const body = resource("workspaces", { name: unique("ws"), ...attributes }, relationships);
  return data(await api.admin.post(`/organizations/${organizationName}/workspaces`, body));
}

export async function makeVarset(
  api: Api,
  organizationName: string,
  attributes: object = {},
  relationships?: object,
): Promise<Json> {
  const body = resource("varsets", { name: unique("set"), ...attributes }, relationships);
  return data(await api.admin.post(`/organizations/${organizationName}/varsets`, body));
}

/** The relationship that puts a thing into a project. */
export const inProject = (id: string) => ({ project: { data: { type: "projects", id } } });

/** Gives a team a level on a project. */
export async function grantProject(
  api: Api,
  _organizationId: string,
  projectId: string,
  teamId: string,
  access: Exclude<ProjectLevel, "custom">,
): Promise<string> {
  return (await makeTeamProject(api, projectId, teamId, { access })).id;
}

/** Gives a team a level on a workspace. */
export async function grantWorkspace(
  api: Api,
  _organizationId: string,
  workspaceId: string,
  teamId: string,
  access: Exclude<WorkspaceLevel, "custom">,
): Promise<string> {
  return (await makeTeamWorkspace(api, workspaceId, teamId, { access })).id;
}

export const onProject = (projectId: string, teamId: string) => ({
  project: { data: { type: "projects", id: projectId } },
  team: { data: { type: "teams", id: teamId } },
});

export const onWorkspace = (workspaceId: string, teamId: string) => ({
  workspace: { data: { type: "workspaces", id: workspaceId } },
  team: { data: { type: "teams", id: teamId } },
});

export async function makeTeamProject(
  api: Api,
  projectId: string,
  teamId: string,
  attributes: object = { access: "read" },
): Promise<Json> {
  const body = resource("team-projects", attributes, onProject(projectId, teamId));
  return data(await api.admin.post("/team-projects", body));
}

export async function makeTeamWorkspace(
  api: Api,
  workspaceId: string,
  teamId: string,
  attributes: object = { access: "read" },
): Promise<Json> {
  const body = resource("team-workspaces", attributes, onWorkspace(workspaceId, teamId));
  return data(await api.admin.post("/team-workspaces", body));
}

/** The details of an answer's errors, for assertions. */
export const details = (answer: Answer): string[] => (answer.body?.errors ?? []).map((error: Json) => error.detail);
export const pointers = (answer: Answer): string[] =>
  (answer.body?.errors ?? []).map((error: Json) => error.source?.pointer ?? error.source?.parameter);
