/** The access version of an organization: changes whenever a change can affect who has which permission there. */
import { sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { accessVersions } from "../../src/database/migrations/0012-access-versions.ts";
import { grantsThatEnd } from "../../src/database/migrations/0015-grants-that-end.ts";
import { workspaceAccessColumns } from "../../src/resources/shared/grants/reads.ts";
import { useApi } from "../support/api.ts";
import { type Org } from "../support/builders.ts";

const api = useApi();
const watched: Record<string, readonly string[]> = { ...accessVersions.raisesAccess };
for (const [table, columns] of Object.entries(grantsThatEnd.raisesAccessToo ?? {}))
  watched[table] = [...(watched[table] ?? []), ...columns];
let org: Org;
let other: Org;

beforeAll(async () => {
  [org, other] = [await api.makeOrganization(), await api.makeOrganization()];
  const team = await api.makeTeam(org.name);
  await api.makeMember(org.name, [team.id]);
  const { id } = await api.makeWorkspace(org.name);
  await api.grantProject(org.defaultProjectId, team.id, "read");
  await api.grantWorkspace(id, team.id, "read");
});

const versionOf = async ({ id }: Org) =>
  (
    await api.database.reader.db
      .selectFrom("accessVersions")
      .select("version")
      .where("organizationId", "=", id)
      .executeTakeFirstOrThrow()
  ).version;

/** Whether it was raised in this organization, and in no other. */
async function moves(work: () => Promise<unknown>): Promise<boolean> {
  const [before, elsewhere] = [await versionOf(org), await versionOf(other)];
  await work();
  expect(await versionOf(other)).toBe(elsewhere);
  return (await versionOf(org)) > before;
}

describe("the access version is raised by", () => {
  const columns = Object.entries(watched).flatMap(([table, names]) => names.map((column) => ({ table, column })));

  it.each(columns)("$table.$column", async ({ table, column }) => {
    const key = table === "organizations" ? "id" : "organization_id";
    const touch = () =>
      api.database.write((tx) =>
        sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sql.ref(column)} where ${sql.ref(key)} = ${org.id}`.execute(
          tx.db,
        ),
      );
    expect(await moves(touch)).toBe(true);
  });

  it("every inserted and deleted row, also by a cascade", async () => {
    const team = await api.makeTeam(org.name);
    const project = await api.makeProject(org.name);
    const member = await api.makeMember(org.name);
    const { id } = await api.makeWorkspace(org.name, {}, { project: { data: { type: "projects", id: project.id } } });
    const users = { data: [{ type: "users", id: member.username }] };
    const steps: Record<string, () => Promise<unknown>> = {
      "a team": () => api.makeTeam(org.name),
      "a member of the organization": () => api.makeMember(org.name),
      "a member of a team": () => api.admin.post(`/teams/${team.id}/relationships/users`, users),
      "access to a project": () => api.grantProject(project.id, team.id, "write"),
      "access to a workspace": () => api.grantWorkspace(id, team.id, "write"),
      "a workspace that moves": () =>
        api.admin.post(`/projects/${org.defaultProjectId}/relationships/workspaces`, {
          data: [{ type: "workspaces", id }],
        }),
      "a workspace that moves by an update": () =>
        api.admin.patch(`/workspaces/${id}`, {
          data: { type: "workspaces", relationships: { project: { data: { type: "projects", id: project.id } } } },
        }),
      "a workspace that goes": () => api.admin.delete(`/workspaces/${id}`),
      "a project that goes": () => api.admin.delete(`/projects/${project.id}`),
      "a user who goes": () => api.admin.delete(`/admin/users/${member.id}`),
      "a team that goes": () => api.admin.delete(`/teams/${team.id}`),
    };
    for (const [what, step] of Object.entries(steps)) expect(await moves(step), what).toBe(true);
  });
});

describe("the access version is not raised by", () => {
  it("the creation or a change of a workspace", async () => {
    expect(
      await moves(async () => {
        const { id } = await api.makeWorkspace(org.name);
        await api.admin.patch(`/workspaces/${id}`, { data: { type: "workspaces", attributes: { description: "x" } } });
      }),
    ).toBe(false);
  });
});

it("covers every table that permissions on a workspace depend on", () => {
  const { db } = api.database.reader;
  const columns = workspaceAccessColumns("user-1");
  const { sql: text } = db
    .selectFrom("workspaces as w")
    .select(columns as never)
    .compile();
  const read = new Set([...text.matchAll(/\b(?:from|join) "?(\w+)"?/g)].map(([, table]) => table ?? ""));
  read.delete("workspaces");
  // A view of organizations. Closing one also disables it.
  if (read.delete("open_organizations")) read.add("organizations");
  // What a run can read depends on it; responses to runs have no cache validator.
  read.delete("remote_state_consumers");
  expect([...read].filter((table) => watched[table] === undefined)).toEqual([]);
  expect(read.size).toBeGreaterThanOrEqual(6);
});
