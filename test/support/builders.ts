/** Creates resources for tests with defaults, nearly all over HTTP. */
import { randomBytes } from "node:crypto";
import { actorId } from "../../src/access/actor.ts";
import type { ProjectLevel, WorkspaceLevel } from "../../src/access/levels.ts";
import type { Tx } from "../../src/database/database.ts";
import { insertRow } from "../../src/database/prepared.ts";
import type { Schema } from "../../src/database/schema/schema.ts";
import { newToken, tokenHash } from "../../src/kernel/ids.ts";
import { fold } from "../../src/kernel/text.ts";
import { newTokenRow } from "../../src/resources/identity/authentication-tokens/rules.ts";
import { newMembership } from "../../src/resources/identity/organization-memberships/rules.ts";
import { joinTeams } from "../../src/resources/identity/teams/writes.ts";
import { newUser } from "../../src/resources/identity/users/rules.ts";
import { noExpiry } from "../../src/resources/shared/grants/expiry.ts";
import type { Answer, Caller, Json, RunningApi } from "./api.ts";
import { adminIdIn, copyOrganization, type OrganizationTemplate, readOrganizationTemplate } from "./copies.ts";

export const unique = (prefix: string) => `${prefix}-${randomBytes(5).toString("hex")}`;

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

/** Inserted directly without attributes, because tests create thousands; otherwise over HTTP. */
export async function makeUser(api: RunningApi, attributes: object = {}): Promise<Person> {
  const username = unique("user");
  const email = `${username}@example.com`;
  if (Object.keys(attributes).length === 0) return api.database.write(async (tx) => addPerson(api, tx));
  const user = data(await api.admin.post("/admin/users", resource("users", { username, email, ...attributes })));
  const token = data(await api.admin.post(`/users/${user.id}/authentication-tokens`));
  return {
    ...api.as(token.attributes.token),
    id: user.id,
    username: user.attributes.username,
    email: user.attributes.email,
  };
}

async function addPerson(api: RunningApi, tx: Tx): Promise<Person> {
  const username = unique("user");
  const email = `${username}@example.com`;
  const user = newUser({ username, email });
  const secret = newToken();
  const token = newTokenRow(
    { holder: { kind: "user", userId: user.id }, isLegacy: false },
    { createdById: actorId({ kind: "operator" }), createdAt: user.createdAt, expiredAt: null },
  );
  await insertRow(tx, "users", user);
  await insertRow(tx, "tokens", { ...token, hash: tokenHash(secret) });
  return { ...api.as(secret), id: user.id, username, email };
}

export interface Org {
  readonly name: string;
  readonly id: string;
  readonly defaultProjectId: string;
  readonly owner: Person;
  readonly ownersTeamId: string;
}

/** The first plain organization; later ones are copies of it. */
let original: OrganizationTemplate | undefined;

/** The owner is not a site admin. A plain one is a copy (`copies.ts`); one with attributes is created over HTTP. */
export async function makeOrganization(api: RunningApi, attributes: object = {}): Promise<Org> {
  const isPlain = Object.keys(attributes).length === 0;
  const adminId = isPlain && original !== undefined ? await adminIdIn(api.database) : undefined;
  if (original !== undefined && adminId !== undefined) return copyOf(api, original, adminId);
  const made = await makeOrganizationOverHttp(api, attributes);
  if (isPlain) original ??= await readOrganizationTemplate(api.database, made);
  return made;
}

async function makeOrganizationOverHttp(api: RunningApi, attributes: object): Promise<Org> {
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

async function copyOf(api: RunningApi, from: OrganizationTemplate, adminId: string): Promise<Org> {
  const [organization, username] = [unique("org"), unique("user")];
  const names = { organization, username, email: `${username}@example.com` };
  const { secret, rowsOf } = await api.database.write((tx) => copyOrganization(tx, from, names, adminId));
  const idOf = (table: keyof Schema, matches: (row: Record<string, unknown>) => boolean = () => true) =>
    String(rowsOf(table).find(matches)?.["id"]);
  const userId = idOf("users");
  const membershipId = idOf("organizationMemberships", (row) => row["userId"] === userId);
  return {
    name: organization,
    id: idOf("organizations"),
    defaultProjectId: idOf("projects"),
    owner: { ...api.as(secret), id: userId, username, email: names.email, membershipId } as Member,
    ownersTeamId: idOf("teams"),
  };
}

export interface Member extends Person {
  readonly membershipId: string;
}

/** Inserted directly, because tests create thousands. */
export async function makeMember(
  api: RunningApi,
  organizationName: string,
  teamIds: readonly string[] = [],
): Promise<Member> {
  return api.database.write(async (tx) => {
    const { id: organizationId } = await tx.db
      .selectFrom("organizations")
      .select("id")
      .where("nameKey", "=", fold(organizationName))
      .executeTakeFirstOrThrow();
    const person = await addPerson(api, tx);
    const membership = newMembership({ email: person.email }, organizationId, person.id);
    await insertRow(tx, "organizationMemberships", membership);
    const [teams, expiries] = [teamIds.map((id) => ({ id })), new Map(teamIds.map((id) => [id, noExpiry]))];
    await joinTeams(tx, membership, teams as never, expiries);
    return { ...person, membershipId: membership.id };
  });
}

export async function makeTeam(api: RunningApi, organizationName: string, attributes: object = {}): Promise<Json> {
  return data(
    await api.admin.post(
      `/organizations/${organizationName}/teams`,
      resource("teams", { name: unique("team"), visibility: "organization", ...attributes }),
    ),
  );
}

export async function makeHolder(
  api: RunningApi,
  organizationName: string,
  ...permissions: string[]
): Promise<Member & { teamId: string }> {
  const team = await makeTeam(api, organizationName, {
    "organization-access": Object.fromEntries(permissions.map((name) => [name, true])),
  });
  return { ...(await makeMember(api, organizationName, [team.id])), teamId: team.id };
}

/** A member of a new team with read access to the project. */
export async function makeReader(api: RunningApi, organizationName: string, projectId: string): Promise<Member> {
  const team = await makeTeam(api, organizationName);
  const member = await makeMember(api, organizationName, [team.id]);
  await makeTeamProject(api, projectId, team.id, { access: "read" });
  return member;
}

/** A token that expires can create less. */
const lastingToken = resource("authentication-tokens", { "expired-at": null });

export async function makeTeamToken(api: RunningApi, teamId: string): Promise<Caller> {
  return api.as(data(await api.admin.post(`/teams/${teamId}/authentication-token`, lastingToken)).attributes.token);
}

export async function makeOrganizationToken(api: RunningApi, organizationName: string): Promise<Caller> {
  const path = `/organizations/${organizationName}/authentication-token`;
  return api.as(data(await api.admin.post(path, lastingToken)).attributes.token);
}

export async function makeProject(api: RunningApi, organizationName: string, attributes: object = {}): Promise<Json> {
  return data(
    await api.admin.post(
      `/organizations/${organizationName}/projects`,
      resource("projects", { name: unique("project"), ...attributes }),
    ),
  );
}

export async function makeWorkspace(
  api: RunningApi,
  organizationName: string,
  attributes: object = {},
  relationships?: object,
): Promise<Json> {
  const body = resource("workspaces", { name: unique("ws"), ...attributes }, relationships);
  return data(await api.admin.post(`/organizations/${organizationName}/workspaces`, body));
}

export async function makeVarset(
  api: RunningApi,
  organizationName: string,
  attributes: object = {},
  relationships?: object,
): Promise<Json> {
  const body = resource("varsets", { name: unique("set"), ...attributes }, relationships);
  return data(await api.admin.post(`/organizations/${organizationName}/varsets`, body));
}

export const inProject = (id: string) => ({ project: { data: { type: "projects", id } } });

export async function grantProject(
  api: RunningApi,
  _organizationId: string,
  projectId: string,
  teamId: string,
  access: Exclude<ProjectLevel, "custom">,
): Promise<string> {
  return (await makeTeamProject(api, projectId, teamId, { access })).id;
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
  api: RunningApi,
  projectId: string,
  teamId: string,
  attributes: object = { access: "read" },
): Promise<Json> {
  const body = resource("team-projects", attributes, onProject(projectId, teamId));
  return data(await api.admin.post("/team-projects", body));
}

export async function makeTeamWorkspace(
  api: RunningApi,
  workspaceId: string,
  teamId: string,
  attributes: object = { access: "read" },
): Promise<Json> {
  const body = resource("team-workspaces", attributes, onWorkspace(workspaceId, teamId));
  return data(await api.admin.post("/team-workspaces", body));
}

export const details = (answer: Answer): string[] => (answer.body?.errors ?? []).map((error: Json) => error.detail);
export const pointers = (answer: Answer): string[] =>
  (answer.body?.errors ?? []).map((error: Json) => error.source?.pointer ?? error.source?.parameter);

const builders = {
  makeUser,
  makeOrganization,
  makeMember,
  makeTeam,
  makeHolder,
  makeReader,
  makeTeamToken,
  makeOrganizationToken,
  makeProject,
  makeWorkspace,
  makeVarset,
  makeTeamProject,
  makeTeamWorkspace,
  grantProject: async (api: RunningApi, projectId: string, teamId: string, access: Exclude<ProjectLevel, "custom">) =>
    String((await makeTeamProject(api, projectId, teamId, { access })).id),
  grantWorkspace: async (
    api: RunningApi,
    workspaceId: string,
    teamId: string,
    access: Exclude<WorkspaceLevel, "custom">,
  ) => String((await makeTeamWorkspace(api, workspaceId, teamId, { access })).id),
};

type Bound<Build> = Build extends (api: any, ...rest: infer Rest) => infer Made ? (...rest: Rest) => Made : never;
export type Builders = { readonly [Name in keyof typeof builders]: Bound<(typeof builders)[Name]> };

export function buildersOn(api: RunningApi): Builders {
  const bound = Object.entries<(api: RunningApi, ...rest: never[]) => unknown>(builders).map(
    ([name, build]) => [name, build.bind(undefined, api)] as const,
  );
  return Object.fromEntries(bound) as never;
}
