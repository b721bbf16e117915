/**
 * Fills a database in bulk with SQL: copies a row that the server's own code created, varies it by expressions of a running number, and
 * computes the counters from the rows. A million workspaces take minutes.
 */
import { CompiledQuery, sql } from "kysely";
import { projectLevelMask, workspaceLevelMask } from "../../src/access/levels.ts";
import type { Database, Tx } from "../../src/database/database.ts";
import type { TokenTable } from "../../src/database/schema/identity.ts";
import { snake } from "../../src/kernel/names.ts";
import { newId, tokenHash } from "../../src/kernel/ids.ts";
import { newOrganization } from "../../src/resources/identity/organizations/rules.ts";
import { newOwnersTeam, newTeam } from "../../src/resources/identity/teams/rules.ts";
import { newUser } from "../../src/resources/identity/users/rules.ts";
import { newProject } from "../../src/resources/register/projects/rules.ts";
import { newWorkspace } from "../../src/resources/register/workspaces/rules.ts";
import { type Index, plainIndexes, tidy } from "./indexes.ts";
import { type Layout, layoutOf, projectsOfTeam, type Share, totalOf } from "./layout.ts";

export const largeOrganization = "organization-0";
export const tokens = { owner: "scale-owner-0123456789", member: "scale-member-0123456789" } as const;
/** How many workspaces have rare features, at every size. */
export const rareCount = 20;

const createdAt = "2026-01-01T00:00:00.000Z";
const rowsAtOnce = 50_000;
const serviceOptions = {
  organizationCreation: "site-admins",
  edition: "self-hosted",
  globalRemoteStateDefault: false,
  publicUrl: "",
} as const;

/** SQL of a column in terms of the running number `i`. */
type Expressions = Readonly<Record<string, string>>;

// --- SQL fragments for both databases

/** A prime that spreads numbers over an index like random ids, without collisions. */
const prime = 15_485_863;
const scattered = (number: string) => `(cast((${number}) as bigint) * 7919 % ${prime})`;
/** Sixteen digits after the prefix, like the sixteen letters of a real one. */
const id = (prefix: string, number: string) =>
  `'${prefix}-' || cast(1000000000000000 + ${scattered(number)} * 1000003 as text)`;
const twoDigits = (number: string) => `substr(cast(100 + (${number}) as text), 2, 2)`;
const moment = (number: string) => {
  const s = scattered(number);
  return `'2026-' || ${twoDigits(`1 + ${s} % 12`)} || '-' || ${twoDigits(`1 + ${s} / 12 % 28`)} || 'T'
    || ${twoDigits(`${s} / 336 % 24`)} || ':' || ${twoDigits(`${s} / 8064 % 60`)} || ':' || ${twoDigits(`i % 60`)} || '.000Z'`;
};

/** For the n-th of something, of which the first organization has `large` and each other one `small`. */
function place({ organizations }: Layout, large: number): { organization: string; local: string } {
  const others = organizations - 1;
  return {
    organization: `case when i < ${large} then 0 else 1 + (i - ${large}) % ${others} end`,
    local: `case when i < ${large} then i else (i - ${large}) / ${others} end`,
  };
}

/** The global number, from that of the organization and that within it. */
function numberOf({ organizations }: Layout, large: number, organization: string, local: string): string {
  return `case when (${organization}) = 0 then (${local})
    else ${large} + (${local}) * ${organizations - 1} + (${organization}) - 1 end`;
}

const organizationId = (number: string) => id("org", `1 + (${number})`);
const literal = (value: string | number | null) =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

// --- the filling

export type Progress = (table: string, done: number, total: number) => void;

class Filler {
  readonly #database: Database;
  readonly #progress: Progress;
  /** Dropped while filling: building an index once is much cheaper than updating it per row. */
  #indexes: readonly Index[] = [];

  constructor(database: Database, progress: Progress) {
    this.#database = database;
    this.#progress = progress;
  }

  /** Rows arrive in random order, so SQLite gets a larger page cache than in a server. */
  async prepare(): Promise<void> {
    if (this.#database.dialect.name === "sqlite") await this.#run("PRAGMA cache_size = -1000000");
    this.#indexes = await plainIndexes(this.#database);
    for (const { name } of this.#indexes) await this.#run(`drop index "${name}"`);
  }

  /** Recreates the indexes. */
  async finish(): Promise<void> {
    for (const [at, { definition }] of this.#indexes.entries()) {
      await this.#run(definition);
      this.#progress("indexes", at + 1, this.#indexes.length);
    }
  }

  /** Applies `columns` to the template row. The condition skips numbers. */
  async insert(table: string, row: object, columns: Expressions, total: number, where = "1 = 1"): Promise<void> {
    const made = Object.entries(row).map(([name, value]) => [snake(name), literal(value as string | number | null)]);
    const all: Expressions = { ...Object.fromEntries(made), ...columns };
    for (let from = 0; from < total; from += rowsAtOnce) {
      const to = Math.min(total, from + rowsAtOnce);
      await this.#run(`
        insert into ${table} (${Object.keys(all).join(", ")})
        with recursive series(i) as (
          select cast(${from} as bigint) union all select i + 1 from series where i < ${to - 1})
        select ${Object.values(all).join(", ")} from series where ${where}`);
      this.#progress(table, to, total);
    }
  }

  async count(table: string, column: string, counted: string): Promise<void> {
    await this.#run(`update ${table} set ${column} = (select count(*) from ${counted})`);
    this.#progress(`${table}.${column}`, 1, 1);
  }

  /** Without a timeout, because nothing else runs. */
  async #run(text: string): Promise<void> {
    await this.#database.write((tx: Tx) => tx.db.executeQuery(CompiledQuery.raw(text)), { hasNoTimeout: true });
  }
}

/** The ids that the cases use. */
export interface Filled {
  readonly layout: Layout;
  readonly projectId: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly teamId: string;
  readonly userId: string;
}

export async function fill(database: Database, workspaces: number, progress: Progress): Promise<Filled> {
  const layout = layoutOf(workspaces);
  const filler = new Filler(database, progress);
  await filler.prepare();
  await fillOrganizations(filler, layout);
  await fillPeople(filler, layout);
  await fillProjects(filler, layout);
  await fillWorkspaces(filler, layout);
  await fillTags(filler, layout);
  await fillAccess(filler, layout);
  await fillTrail(filler, layout);
  await filler.finish();
  await count(filler);
  await tidy(database);
  return lookUp(database, layout);
}

async function fillOrganizations(filler: Filler, { organizations }: Layout): Promise<void> {
  const identity = { id: "", defaultProjectId: "", createdAt };
  const organization = newOrganization({ name: "x", email: "scale@example.com" }, identity);
  const named = { name: "'organization-' || i", name_key: "'organization-' || i" };
  const own = { id: organizationId("i"), default_project_id: id("prj", "15000000 + i") };
  await filler.insert("organizations", organization, { ...own, ...named }, organizations);
  const owners = newOwnersTeam(organization, 0);
  const ofOrganization = { id: id("team", "15000000 + i"), organization_id: organizationId("i") };
  await filler.insert("teams", owners, ofOrganization, organizations);
  const project = newProject({ name: "Default Project" }, { id: "", organizationId: "", isDefault: 1, createdAt });
  await filler.insert(
    "projects",
    project,
    { id: own.default_project_id, organization_id: organizationId("i") },
    organizations,
  );
}

/** Three members per team, and an owner of the first organization. */
async function fillPeople(filler: Filler, layout: Layout): Promise<void> {
  const { organization, local } = place(layout, layout.large.teams);
  const team = newTeam({ name: "x", visibility: "organization" }, "");
  const name = `'team-' || (${local})`;
  const teams = { id: id("team", "i"), organization_id: organizationId(organization), name, name_key: name };
  await filler.insert("teams", { ...team, createdAt }, teams, totalOf(layout, "teams"));

  const user = newUser({ username: "x", email: "x@example.com" });
  const username = "'user-' || i";
  const named = { id: id("user", "i"), username, username_key: username, created_at: moment("i") };
  const address = `${username} || '@example.com'`;
  const total = totalOf(layout, "members");
  await filler.insert("users", user, { ...named, email: address, email_key: address }, total);
  const at = place(layout, layout.large.members);
  const membership = {
    id: id("ou", "i"),
    organization_id: organizationId(at.organization),
    user_id: id("user", "i"),
    email: address,
    email_key: address,
    created_at: moment("i"),
  };
  await filler.insert("organization_memberships", { status: "active", version: 1 }, membership, total);
  const teamNumber = (share: Share) => `(${at.local}) % ${share.teams}`;
  const chosen = `case when i < ${layout.large.members} then ${teamNumber(layout.large)} else ${teamNumber(layout.small)} end`;
  const seat = {
    organization_id: membership.organization_id,
    team_id: id("team", numberOf(layout, layout.large.teams, at.organization, chosen)),
    membership_id: membership.id,
    user_id: membership.user_id,
  };
  await filler.insert("team_members", { createdAt }, seat, total);
  // The first member is also an owner. The second, in one team, is the measured member.
  await filler.insert("team_members", { createdAt }, { ...seat, team_id: id("team", "15000000") }, 1);
  for (const [number, secret] of Object.values(tokens).entries()) {
    const token: TokenTable = {
      id: newId("authentication-tokens"),
      kind: "user",
      userId: null,
      teamId: null,
      organizationId: null,
      isLegacy: 0,
      hash: tokenHash(secret),
      description: null,
      createdById: null,
      createdAt: new Date().toISOString(),
      expiredAt: null,
      lastUsedAt: null,
      version: 1,
      begunById: null,
      identityTrustId: null,
    };
    await filler.insert("tokens", token, { user_id: id("user", String(number)) }, 1);
  }
}

async function fillProjects(filler: Filler, layout: Layout): Promise<void> {
  const { organization, local } = place(layout, layout.large.projects);
  const project = newProject({ name: "x", description: "A project" }, { id: "", organizationId: "", createdAt });
  const name = `case (${local}) % 7 when 0 then 'network-' else 'service-' end || cast(10000000 + ${scattered("i")} as text)`;
  const own = { id: id("prj", "i"), organization_id: organizationId(organization) };
  await filler.insert(
    "projects",
    project,
    { ...own, name, name_key: name, created_at: moment("i") },
    totalOf(layout, "projects"),
  );
  const binding = {
    id: id("tb", "14000000 + i"),
    organization_id: own.organization_id,
    project_id: own.id,
    value: `'department-' || ((${local}) % 10)`,
  };
  await filler.insert(
    "tag_bindings",
    { key: "department", workspaceId: null, createdAt },
    binding,
    totalOf(layout, "projects"),
  );
}

const environment = (local: string) =>
  `case (${local}) % 3 when 0 then 'production' when 1 then 'staging' else 'testing' end`;

async function fillWorkspaces(filler: Filler, layout: Layout): Promise<void> {
  const { organization, local } = place(layout, layout.large.workspaces);
  // From the tenth on: the projects of the measured member's team.
  const numberIn = ({ inhabited, projects }: Share) => `((${local}) % ${inhabited} + ${projectsOfTeam}) % ${projects}`;
  const projectNumber = `case when i < ${layout.large.workspaces} then ${numberIn(layout.large)} else ${numberIn(layout.small)} end`;
  const workspace = newWorkspace(
    { name: "x", description: "A workspace of the benchmark" },
    {
      identity: { id: "", organizationId: "", projectId: "", createdAt },
      newestEngine: "1.9.5",
      projectDuration: null,
      options: serviceOptions,
    },
  );
  const word = `case when (${local}) < ${rareCount} then 'payroll' when (${local}) % 7 = 0 then 'network' else 'service' end`;
  const name = `(${word}) || '-' || cast(10000000 + ${scattered("i")} as text) || '-' || (${environment(local)})`;
  const hasRun = `(${local}) % 5 <> 0`;
  await filler.insert(
    "workspaces",
    workspace,
    {
      id: id("ws", "i"),
      organization_id: organizationId(organization),
      project_id: id("prj", numberOf(layout, layout.large.projects, organization, projectNumber)),
      name,
      name_key: name,
      tag_names: `'left-' || ((${local}) % 10) || case when (${local}) < ${rareCount} then ',rare' else '' end
        || ',right-' || ((${local}) / 10 % 10)`,
      current_run_id: `case when ${hasRun} then ${id("run", "i")} end`,
      current_run_status: `case when (${local}) % 5 = 0 then null when (${local}) < ${5 * rareCount} then 'planning'
        when (${local}) % 5 = 4 then 'errored' else 'applied' end`,
      current_run_created_at: `case when ${hasRun} then ${moment("i + 3")} end`,
      latest_change_at: moment("i + 5"),
      created_at: moment("i"),
      updated_at: moment("i + 5"),
    },
    layout.workspaces,
  );
}

async function fillTags(filler: Filler, layout: Layout): Promise<void> {
  const { organization, local } = place(layout, layout.large.workspaces);
  const tagsEach = 21;
  const [owner, number] = [`i / ${tagsEach}`, `i % ${tagsEach}`];
  const name = `case when ${number} = 20 then 'rare' when ${number} < 10 then 'left-' || (${number})
    else 'right-' || (${number} - 10) end`;
  const tag = { instanceCount: 0, createdAt, version: 1 };
  const tagId = (ofOrganization: string, ofTag: string) => id("tag", `(${ofOrganization}) * ${tagsEach} + (${ofTag})`);
  const tagRow = { id: id("tag", "i"), organization_id: organizationId(owner), name };
  await filler.insert("tags", tag, tagRow, tagsEach * layout.organizations);
  const link = (ofTag: string) => ({
    organization_id: organizationId(organization),
    workspace_id: id("ws", "i"),
    tag_id: tagId(organization, ofTag),
  });
  const total = layout.workspaces;
  await filler.insert("workspace_tags", { createdAt }, link(`(${local}) % 10`), total);
  await filler.insert("workspace_tags", { createdAt }, link(`10 + (${local}) / 10 % 10`), total);
  await filler.insert("workspace_tags", { createdAt }, link("20"), total, `(${local}) < ${rareCount}`);
  const binding = (base: number, value: string) => ({
    id: id("tb", `${base} + i`),
    organization_id: organizationId(organization),
    workspace_id: id("ws", "i"),
    value,
  });
  const bound = { projectId: null, createdAt };
  await filler.insert("tag_bindings", { ...bound, key: "environment" }, binding(0, environment(local)), total);
  const rare = binding(7_000_000, "'yes'");
  await filler.insert("tag_bindings", { ...bound, key: "rare-key" }, rare, total, `(${local}) < ${rareCount}`);
}

/** Each team has access to ten projects and one workspace. */
async function fillAccess(filler: Filler, layout: Layout): Promise<void> {
  const total = totalOf(layout, "teams") * projectsOfTeam;
  // Record i belongs to team i / 10 and its project i % 10.
  const team = place(layout, layout.large.teams);
  const ofTeam = (text: string) => text.replaceAll(/\bi\b/g, `(i / ${projectsOfTeam})`);
  const [organization, local] = [ofTeam(team.organization), ofTeam(team.local)];
  const project = (count: number) => `((${local}) * ${projectsOfTeam} + i % ${projectsOfTeam}) % ${count}`;
  const chosen = `case when i < ${layout.large.teams * projectsOfTeam} then ${project(layout.large.projects)}
    else ${project(layout.small.projects)} end`;
  const fits = `i < ${layout.large.teams * projectsOfTeam} or i % ${projectsOfTeam} < ${layout.small.projects}`;
  const given = { access: "maintain", permissions: projectLevelMask("maintain"), createdAt, version: 1 };
  const record = {
    id: id("tprj", "i"),
    organization_id: organizationId(organization),
    team_id: id("team", `i / ${projectsOfTeam}`),
    project_id: id("prj", numberOf(layout, layout.large.projects, organization, chosen)),
  };
  await filler.insert("team_projects", given, record, total, fits);
  const single = { access: "read", permissions: workspaceLevelMask("read"), createdAt, version: 1 };
  const workspace = `(${team.local}) * 7 + 1`;
  await filler.insert(
    "team_workspaces",
    single,
    {
      id: id("tws", "i"),
      organization_id: organizationId(team.organization),
      team_id: id("team", "i"),
      workspace_id: id("ws", numberOf(layout, layout.large.workspaces, team.organization, workspace)),
    },
    totalOf(layout, "teams"),
    `(${workspace}) < case when i < ${layout.large.teams} then ${layout.large.workspaces} else ${layout.small.workspaces} end`,
  );
}

/** One creation event per workspace. */
async function fillTrail(filler: Filler, layout: Layout): Promise<void> {
  const { organization, local } = place(layout, layout.large.workspaces);
  const members = `case when i < ${layout.large.workspaces} then ${layout.large.members} else ${layout.small.members} end`;
  const actor = numberOf(layout, layout.large.members, organization, `(${local}) % (${members})`);
  await filler.insert(
    "audit_events",
    { actorKind: "user", action: "workspaces.create", subjectType: "workspaces", before: null, after: "{}" },
    {
      id: id("ae", "i"),
      organization_id: organizationId(organization),
      actor_id: id("user", actor),
      actor_name: `'user-' || (${actor})`,
      subject_id: id("ws", "i"),
      request_id: "'request-' || i",
      created_at: moment("i"),
    },
    layout.workspaces,
  );
}

async function count(filler: Filler): Promise<void> {
  await filler.count("organizations", "project_count", "projects where organization_id = organizations.id");
  await filler.count("projects", "workspace_count", "workspaces where project_id = projects.id");
  await filler.count("projects", "team_count", "team_projects where project_id = projects.id");
  await filler.count("teams", "users_count", "team_members where team_id = teams.id");
  await filler.count("tags", "instance_count", "workspace_tags where tag_id = tags.id");
}

async function lookUp(database: Database, layout: Layout): Promise<Filled> {
  const { rows } = await sql<Omit<Filled, "layout">>`
    select w.id as workspace_id, w.name as workspace_name, w.project_id as project_id, tm.team_id as team_id, u.id as user_id
    from users as u
    inner join team_members as tm on tm.user_id = u.id
    inner join team_projects as tp on tp.team_id = tm.team_id
    inner join workspaces as w on w.project_id = tp.project_id
    where u.username = 'user-1' order by w.name limit 1 offset 100`.execute(database.reader.db);
  return { layout, ...rows[0]! };
}
