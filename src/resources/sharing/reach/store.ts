/**
 * A page of what somebody reaches: projects and workspaces in one order, each with every team of the subject that gives something on it. The
 * ids of the page come first, in the order of the indexes, and records are joined to them afterwards. How they are found depends on how much
 * there is to find, as with the list of workspaces.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { organizationBitsOnThings, type TeamHolding } from "../../../access/explain.ts";
import type { Standing } from "../../../access/organization.ts";
import type { Mask } from "../../../access/permission-set.ts";
import { fulfils, seeingBits, type ThingKind, type Wanted } from "../../../access/reach.ts";
import type { Tx } from "../../../database/database.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import { groupOfPlace } from "../../shared/grants/ending.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { fulfilsIn, grantTables, wide } from "../../shared/grants/sums.ts";

/** Who reaches, who asks, and for what. */
export interface Asked {
  readonly organizationId: string;
  /** The subject's: by which its teams are found, and what it holds on everything. */
  readonly principal: string;
  readonly everywhere: Mask;
  readonly wanted: Readonly<Record<ThingKind, Wanted>>;
  readonly actor: Actor;
  readonly standing: Standing;
  /** How many there are to find, and workspaces in all: what a way to them costs. */
  readonly matching: number;
  readonly workspaces: number;
}

/** Which part of the list, and in which direction. */
export type Cut = { readonly descending: boolean; readonly limit: number } & (
  | { readonly offset: number }
  | { readonly after: Position | undefined }
);

/** Where a thing stands in the order: by name, and by id where a project and a workspace have the same. */
export interface Position {
  readonly id: string;
  readonly name: string;
}

export interface Reached extends Position {
  readonly kind: ThingKind;
  readonly projectId: string;
  readonly projectName: string;
  readonly holdings: readonly (TeamHolding & { readonly isKnown: number })[];
}

// --- what is looked for

const summed = (everywhere: Mask, mask: string) => sql<number>`(${wide(everywhere)} | ${sql.ref(mask)})`;
const inSql = ({ sees, any }: Wanted) => ({ sees: wide(sees), any: wide(any) });

/** The projects on which the subject's records, with what it holds everywhere, give what is asked for of things of a kind. */
const projectsGiving = ({ everywhere, wanted }: Asked, kind: ThingKind) =>
  sql`(select project_id from s_granted where ${fulfilsIn(summed(everywhere, "mask"), inSql(wanted[kind]))})`;

/** The workspaces, outside of those projects, on which it takes records of their own to give it. */
function singlesTable({ everywhere, wanted }: Asked): RawBuilder<unknown> {
  const onProject = sql<number>`(${wide(everywhere)} | coalesce(g.mask, 0))`;
  const bits = inSql(wanted.workspace);
  return sql`s_alone as materialized (
    select w.id as id, w.name as name from s_single as x cross join workspaces as w
    left join s_granted as g on g.project_id = w.project_id
    where w.id = x.workspace_id and ${fulfilsIn(sql<number>`(${onProject} | x.mask)`, bits)} and not ${fulfilsIn(onProject, bits)})`;
}

/** Whether the caller may see a thing: nothing to ask where it sees all, or asks about itself. */
function isSeen({ actor, standing, principal }: Asked, kind: ThingKind, thing: "p" | "v"): RawBuilder<SqlBool>[] {
  const bit = seeingBits[kind];
  if ((standing.everywhere & bit) !== 0 || principalOf(actor) === principal) return [];
  const inProjects = sql`(select project_id from c_granted where (mask & ${wide(bit)}) <> 0)`;
  if (kind === "project") return [sql<SqlBool>`${sql.ref(`${thing}.id`)} in ${inProjects}`];
  return [
    sql<SqlBool>`(${sql.ref(`${thing}.project_id`)} in ${inProjects}
      or ${sql.ref(`${thing}.id`)} in (select workspace_id from c_single where (mask & ${wide(bit)}) <> 0))`,
  ];
}

function isAfter(cut: Cut, thing: "p" | "v" | "x"): RawBuilder<SqlBool>[] {
  if (!("after" in cut) || cut.after === undefined) return [];
  const { name, id } = cut.after;
  const [nameOf, idOf] = [sql.ref(`${thing}.name`), sql.ref(`${thing}.id`)];
  return [sql<SqlBool>`(${nameOf}, ${idOf}) ${sql.raw(cut.descending ? "<" : ">")} (${name}, ${id})`];
}

const where = (conditions: readonly RawBuilder<SqlBool>[]) => sql`where ${sql.join(conditions, sql` and `)}`;
const inOrganization = ({ organizationId }: Asked, thing: "p" | "v") =>
  sql<SqlBool>`${sql.ref(`${thing}.organization_id`)} = ${organizationId}`;

function projectParts(asked: Asked, cut: Cut): RawBuilder<unknown>[] {
  const { everywhere, wanted } = asked;
  if (wanted.project.any === 0) return [];
  const conditions = [
    inOrganization(asked, "p"),
    ...(fulfils(everywhere, wanted.project) ? [] : [sql<SqlBool>`p.id in ${projectsGiving(asked, "project")}`]),
    ...isSeen(asked, "project", "p"),
    ...isAfter(cut, "p"),
  ];
  return [sql`select p.id as id, p.name as name from projects as p ${where(conditions)}`];
}

/**
 * A walk through all workspaces in order passes so many for each that it finds; collecting takes all that there are, and sorts them. Pieces of
 * the whole list are walked, because each goes on where the last one ended.
 */
function isWalked({ matching, workspaces }: Asked, cut: Cut): boolean {
  if ("after" in cut) return true;
  const passed = ((cut.offset + cut.limit) * workspaces) / Math.max(matching, 1);
  return passed < matching;
}

function workspaceParts(asked: Asked, cut: Cut): RawBuilder<unknown>[] {
  const { everywhere, wanted } = asked;
  if (wanted.workspace.any === 0) return [];
  const among = (conditions: readonly RawBuilder<SqlBool>[], from = sql`workspaces as v`) =>
    sql`select v.id as id, v.name as name from ${from}
      ${where([inOrganization(asked, "v"), ...conditions, ...isSeen(asked, "workspace", "v"), ...isAfter(cut, "v")])}`;
  if (fulfils(everywhere, wanted.workspace)) return [among([])];
  const inProjects = sql<SqlBool>`v.project_id in ${projectsGiving(asked, "workspace")}`;
  if (isWalked(asked, cut)) return [among([sql<SqlBool>`(${inProjects} or v.id in (select id from s_alone))`])];
  return [
    among([inProjects]),
    among([sql<SqlBool>`v.id = alone.id`], sql`s_alone as alone cross join workspaces as v`),
  ];
}

// --- the page

const inOrder = (table: "" | "things.", descending: boolean) => {
  const direction = sql.raw(descending ? "desc" : "asc");
  return sql`order by ${sql.raw(`${table}name`)} ${direction}, ${sql.raw(`${table}id`)} ${direction}`;
};

/** The next power of two: so that there are few different statements, and each says about how much is wanted. */
const atMost = (count: number): number => 2 ** Math.ceil(Math.log2(Math.max(count, 16)));

/**
 * All parts together, in order, and the page cut from them. The embedded database goes through the parts side by side, each in the order of its
 * index. PostgreSQL would sort all of them, unless it is told by a number how few of each can be on the page.
 */
function cutFrom(tx: Tx, parts: readonly RawBuilder<unknown>[], cut: Cut): RawBuilder<unknown> {
  const offset = "offset" in cut ? cut.offset : 0;
  const order = inOrder("", cut.descending);
  const first = sql.lit(atMost(offset + cut.limit));
  const limited = parts.map(
    (part, at) => sql`select id, name from (${part} ${order} limit ${first}) as ${sql.table(`part_${at}`)}`,
  );
  return sql`${sql.join(tx.dialect.plansOpenLimits ? parts : limited, sql` union all `)}
    ${order} limit ${cut.limit} offset ${offset}`;
}

/** The way from the end is the shorter one to what is behind the middle; rows come in the order that was asked for all the same. */
function shorter(cut: Cut, matching: number): Cut {
  if (!("offset" in cut) || cut.offset <= matching / 2) return cut;
  const limit = Math.min(cut.limit, Math.max(0, matching - cut.offset));
  return { limit, offset: Math.max(0, matching - cut.offset - limit), descending: !cut.descending };
}

/**
 * Every team of the subject, and a row for no team: what nobody's team gives (a site admin's) is listed all the same. Joined to each thing of
 * the page, so that no plan has to look for the pairs.
 */
function seatsTable({ actor, standing, principal }: Asked): RawBuilder<unknown> {
  return sql`seats as materialized (
    select t.id as id, t.name as name, t.name_key as name_key, t.is_owners as is_owners, t.organization_access as organization_access,
      case when ${teamIsVisible(actor, standing)} then 1 else 0 end as is_known,
      place.expires_at as place_until, place.reason as place_reason, ${groupOfPlace("place")} as place_group
    from s_mine inner join teams as t on t.id = s_mine.team_id
    left join team_members as place
      on place.organization_id = t.organization_id and place.user_id = ${principal} and place.team_id = t.id and ${inForce("place")}
    union all select null, null, null, null, null, null, null, null, null)`;
}

type Row = Omit<Reached, "holdings" | "kind"> & { readonly workspaceId: string | null } & {
  [Name in keyof TeamHolding]: TeamHolding[Name] | null;
} & { readonly isKnown: number };

/** One statement. */
export async function findReached(tx: Tx, asked: Asked, cut: Cut): Promise<Reached[]> {
  const chosen = shorter(cut, asked.matching);
  const parts = [...projectParts(asked, chosen), ...workspaceParts(asked, chosen)];
  if (parts.length === 0) return [];
  const organizationId = sql<string>`${asked.organizationId}`;
  const result = await sql<Row>`
    with ${grantTables("s", organizationId, asked.principal)}, ${grantTables("c", organizationId, principalOf(asked.actor))},
    ${singlesTable(asked)},
    page as materialized (${cutFrom(tx, parts, chosen)}),
    things as materialized (
      select page.id as id, page.name as name, w.id as workspace_id, p.id as project_id, p.name as project_name
      from page left join workspaces as w on w.id = page.id inner join projects as p on p.id = coalesce(w.project_id, page.id)),
    ${seatsTable(asked)}
    select things.*, seats.id as team_id, seats.name as team_name, seats.is_owners, seats.organization_access, seats.is_known,
      seats.place_until, seats.place_reason, seats.place_group,
      tp.id as project_record_id, tp.access as project_level, tp.permissions as project_permissions,
      tp.expires_at as project_until, tp.reason as project_reason,
      tw.id as workspace_record_id, tw.access as workspace_level, tw.permissions as workspace_permissions,
      tw.expires_at as workspace_until, tw.reason as workspace_reason
    from things cross join seats
    left join team_projects as tp
      on tp.organization_id = ${organizationId} and tp.project_id = things.project_id and tp.team_id = seats.id
        and ${inForce("tp")}
    left join team_workspaces as tw
      on tw.organization_id = ${organizationId} and tw.workspace_id = things.workspace_id and tw.team_id = seats.id
        and ${inForce("tw")}
    where seats.id is null or tp.id is not null or tw.id is not null
      or (seats.organization_access & ${wide(organizationBitsOnThings)}) <> 0
    ${inOrder("things.", cut.descending)}, seats.name_key, seats.id`.execute(tx.db);
  return gathered(result.rows);
}

/** One thing for all rows of it. */
function gathered(rows: readonly Row[]): Reached[] {
  const found = new Map<string, Reached & { readonly holdings: Reached["holdings"][number][] }>();
  for (const { id, name, projectId, projectName, workspaceId, ...holding } of rows) {
    const kind: ThingKind = workspaceId === null ? "project" : "workspace";
    const thing = found.get(id) ?? { id, name, kind, projectId, projectName, holdings: [] };
    found.set(id, thing);
    if (holding.teamId !== null) thing.holdings.push(holding as Reached["holdings"][number]);
  }
  return [...found.values()];
}
