/** Fills a database: one organization, projects of a hundred workspaces, and a member whose team has ten of the projects. */
import { workspaceLevelMask, projectLevelMask } from "../src/access/levels.ts";
import type { Database, Tx } from "../src/database/database.ts";
import { addFirstOwner } from "../src/resources/organization-memberships/writes.ts";
import { newId, tokenHash } from "../src/kernel/ids.ts";
import { now } from "../src/kernel/time.ts";
import { newOrganization } from "../src/resources/organizations/rules.ts";
import { newProject } from "../src/resources/projects/rules.ts";
import { newOwnersTeam, newTeam } from "../src/resources/teams/rules.ts";
import { newUser } from "../src/resources/users/rules.ts";
import { newWorkspace } from "../src/resources/workspaces/rules.ts";

export const organizationName = "bench";
export const memberToken = "bench-member-token-0123456789";
const grantedProjects = 10;

export interface Population {
  /** A workspace in the middle of those that the member may read. */
  readonly workspaceId: string;
  readonly workspaceName: string;
  /** A project in which the member may create. */
  readonly projectId: string;
  readonly readable: number;
}

const options = {
  organizationCreation: "site-admins",
  edition: "self-hosted",
  globalRemoteStateDefault: false,
} as const;

export async function populate(database: Database, workspaces: number): Promise<Population> {
  const identity = { id: newId("organizations"), defaultProjectId: newId("projects"), createdAt: now() };
  const organization = newOrganization({ name: organizationName, email: "bench@example.com" }, identity);
  const projectCount = Math.max(2 * grantedProjects, workspaces / 100);
  const projects = Array.from({ length: projectCount }, (_, index) =>
    newProject({
      id: newId("projects"),
      organizationId: organization.id,
      name: `project-${index}`,
      createdAt: now(),
      workspaceCount: workspaces / projectCount,
    }),
  );
  const granted = projects.slice(0, grantedProjects);
  const team = newTeam({ name: "members", visibility: "organization" }, organization.id);
  const member = newUser({ username: "member", email: "member@example.com" });
  const rows = Array.from({ length: workspaces }, (_, index) => {
    const project = projects[index % projectCount]!;
    const facts = {
      identity: { id: newId("workspaces"), organizationId: organization.id, projectId: project.id, createdAt: now() },
      newestEngine: "1.9.5",
      projectDuration: null,
      options,
    };
    return newWorkspace(
      {
        name: `${index % 7 === 0 ? "network" : "service"}-${index.toString(36).padStart(5, "0")}-production`,
        description: "A workspace of the benchmark",
      },
      facts,
    );
  });
  await database.write(async (tx) => {
    await tx.db.insertInto("users").values(member).execute();
    await tx.db.insertInto("organizations").values(organization).execute();
    await insertMany(tx, "projects", [
      newProject({
        id: identity.defaultProjectId,
        organizationId: organization.id,
        name: "Default Project",
        isDefault: 1,
        createdAt: now(),
      }),
      ...projects,
    ]);
    await tx.db
      .insertInto("teams")
      .values([newOwnersTeam(organization, 0), team])
      .execute();
    await addFirstOwner(tx, organization.id, team.id, member.id);
    await insertMany(
      tx,
      "teamProjects",
      granted.map((project) => ({
        id: newId("team-projects"),
        organizationId: organization.id,
        projectId: project.id,
        teamId: team.id,
        access: "maintain",
        permissions: projectLevelMask("maintain"),
        createdAt: now(),
        version: 1,
      })),
    );
    await tx.db
      .insertInto("tokens")
      .values({
        id: newId("authentication-tokens"),
        kind: "user",
        userId: member.id,
        teamId: null,
        organizationId: null,
        isLegacy: 0,
        hash: tokenHash(memberToken),
        description: null,
        createdById: member.id,
        createdAt: now(),
        expiredAt: null,
        lastUsedAt: null,
        version: 1,
      })
      .execute();
    await insertMany(tx, "workspaces", rows);
    const outside = rows.find((row) => !granted.some((project) => project.id === row.projectId));
    if (outside)
      await tx.db
        .insertInto("teamWorkspaces")
        .values({
          id: newId("team-workspaces"),
          organizationId: organization.id,
          workspaceId: outside.id,
          teamId: team.id,
          access: "read",
          permissions: workspaceLevelMask("read"),
          createdAt: now(),
          version: 1,
        })
        .execute();
  });
  const readable = rows.filter((row) => granted.some((project) => project.id === row.projectId));
  const middle = readable[Math.floor(readable.length / 2)]!;
  return {
    workspaceId: middle.id,
    workspaceName: middle.name,
    projectId: granted[0]!.id,
    readable: readable.length + 1,
  };
}

/** A few hundred rows a statement: both engines bound the number of parameters. */
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
