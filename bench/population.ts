/** Fills a database: an organization, projects with a hundred workspaces each, a member whose team has access to ten projects; and a small one. */
import { projectLevelMask, workspaceLevelMask } from "../src/access/levels.ts";
import type { Database, Tx } from "../src/database/database.ts";
import type { OrganizationTable, TokenTable } from "../src/database/schema/identity.ts";
import type { ProjectTable } from "../src/database/schema/projects.ts";
import type { WorkspaceTable } from "../src/database/schema/workspaces.ts";
import { newId, tokenHash } from "../src/kernel/ids.ts";
import { now } from "../src/kernel/time.ts";
import { newOrganization } from "../src/resources/identity/organizations/rules.ts";
import { newProject } from "../src/resources/register/projects/rules.ts";
import { newOwnersTeam, newTeam } from "../src/resources/identity/teams/rules.ts";
import { newUser } from "../src/resources/identity/users/rules.ts";
import { newWorkspace } from "../src/resources/register/workspaces/rules.ts";

export const organizationName = "bench";
export const memberToken = tokenFor(organizationName);
const otherOrganizationName = "elsewhere";
const otherWorkspaces = 100;
const grantedProjects = 10;

export interface Population {
  /** Up to 500 that the member can write to. */
  readonly workspaces: readonly { readonly id: string; readonly name: string }[];
  /** A project in which the member can create workspaces. */
  readonly projectId: string;
  readonly member: Member;
  /** In another organization. */
  readonly elsewhere: WritableWorkspaces;
}

export interface WritableWorkspaces {
  readonly workspaces: readonly { readonly id: string; readonly name: string }[];
  readonly token: string;
}

function tokenFor(organization: string): string {
  return `${organization}-member-token-0123456789`;
}

/** The caller and their only team. */
interface Member {
  readonly userId: string;
  readonly teamId: string;
}

const options = {
  organizationCreation: "site-admins",
  edition: "self-hosted",
  globalRemoteStateDefault: false,
  publicUrl: "",
} as const;

export async function populate(database: Database, count: number): Promise<Population> {
  const { workspaces } = await populateOrganization(database, otherOrganizationName, otherWorkspaces);
  const elsewhere = { workspaces, token: tokenFor(otherOrganizationName) };
  return { ...(await populateOrganization(database, organizationName, count)), elsewhere };
}

async function populateOrganization(
  database: Database,
  name: string,
  count: number,
): Promise<Omit<Population, "elsewhere">> {
  const identity = { id: newId("organizations"), defaultProjectId: newId("projects"), createdAt: now() };
  const organization = newOrganization({ name, email: "bench@example.com" }, identity);
  const projects = projectsOf(organization, count);
  const rows = Array.from({ length: count }, (_, index) => workspaceOf(projects[index % projects.length]!, index));
  const granted = new Set(projects.slice(0, grantedProjects).map((project) => project.id));
  const member = await database.write(async (tx) => {
    await tx.db.insertInto("organizations").values(organization).execute();
    await insertMany(tx, "projects", [defaultProjectOf(organization), ...projects]);
    await insertMany(tx, "workspaces", rows);
    const outside = rows.find((row) => !granted.has(row.projectId));
    return insertMember(tx, organization, [...granted], outside);
  });
  const readable = rows.filter((row) => granted.has(row.projectId));
  const workspaces = readable.slice(0, 500).map(({ id, name }) => ({ id, name }));
  return { workspaces, projectId: projects[0]!.id, member };
}

function defaultProjectOf({ id: organizationId, defaultProjectId: id, createdAt }: OrganizationTable): ProjectTable {
  return newProject({ name: "Default Project" }, { id, organizationId, isDefault: 1, createdAt });
}

function projectsOf({ id: organizationId, createdAt }: OrganizationTable, workspaces: number): ProjectTable[] {
  const count = Math.max(2 * grantedProjects, workspaces / 100);
  return Array.from({ length: count }, (_, index) => ({
    ...newProject({ name: `project-${index}` }, { id: newId("projects"), organizationId, createdAt }),
    workspaceCount: workspaces / count,
  }));
}

function workspaceOf(project: ProjectTable, index: number): WorkspaceTable {
  const { organizationId, id: projectId } = project;
  const identity = { id: newId("workspaces"), organizationId, projectId, createdAt: now() };
  const name = `${index % 7 === 0 ? "network" : "service"}-${index.toString(36).padStart(5, "0")}-production`;
  const attributes = { name, description: "A workspace of the benchmark" };
  return newWorkspace(attributes, { identity, newestEngine: "1.9.5", projectDuration: null, options });
}

/** A member of one team with access to ten projects and one other workspace. */
async function insertMember(
  tx: Tx,
  organization: OrganizationTable,
  projectIds: readonly string[],
  outside: WorkspaceTable | undefined,
): Promise<Member> {
  const { id: organizationId, createdAt } = organization;
  const username = `member-of-${organization.name}`;
  const member = newUser({ username, email: `${username}@example.com` });
  const team = newTeam({ name: "members", visibility: "organization" }, organizationId);
  const given = { organizationId, teamId: team.id, createdAt, version: 1 };
  await tx.db.insertInto("users").values(member).execute();
  await tx.db
    .insertInto("teams")
    .values([newOwnersTeam(organization, 0), team])
    .execute();
  const membershipId = newId("organization-memberships");
  const { id: userId, email, emailKey } = member;
  const joined = { id: membershipId, organizationId, userId, email, emailKey, status: "active", createdAt, version: 1 };
  await tx.db.insertInto("organizationMemberships").values(joined).execute();
  const seat = { organizationId, teamId: team.id, membershipId, userId, expiresAt: null, reason: null, createdAt };
  await tx.db.insertInto("teamMembers").values(seat).execute();
  await tx.db
    .insertInto("tokens")
    .values(tokenOf(member.id, tokenFor(organization.name), createdAt))
    .execute();
  const permissions = projectLevelMask("maintain");
  await insertMany(
    tx,
    "teamProjects",
    projectIds.map((projectId) => ({
      ...given,
      id: newId("team-projects"),
      projectId,
      access: "maintain",
      permissions,
    })),
  );
  const inserted = { userId: member.id, teamId: team.id };
  if (outside === undefined) return inserted;
  const single = { ...given, id: newId("team-workspaces"), workspaceId: outside.id, access: "read" };
  await tx.db
    .insertInto("teamWorkspaces")
    .values({ ...single, permissions: workspaceLevelMask("read") })
    .execute();
  return inserted;
}

function tokenOf(userId: string, secret: string, createdAt: string): TokenTable {
  return {
    id: newId("authentication-tokens"),
    kind: "user",
    userId,
    teamId: null,
    organizationId: null,
    isLegacy: 0,
    hash: tokenHash(secret),
    description: null,
    createdById: userId,
    createdAt,
    expiredAt: null,
    lastUsedAt: null,
    version: 1,
    begunById: null,
    identityTrustId: null,
  };
}

/** A few hundred rows per statement, because both databases limit the number of parameters. */
async function insertMany(
  tx: Tx,
  table: "projects" | "teamProjects" | "workspaces",
  rows: readonly object[],
): Promise<void> {
  const size = 300;
  for (let from = 0; from < rows.length; from += size) {
    await tx.db
      .insertInto(table)
      .values(rows.slice(from, from + size) as never)
      .execute();
  }
}
