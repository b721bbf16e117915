/** SQL of organization memberships. */
import { type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationMembershipTable, UserTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { expiredCountOfMembership, inForce } from "../../shared/grants/in-force.ts";
import { isOpenTo, standingColumns } from "../../shared/grants/reads.ts";
import {
  expiriesByTeam,
  type TeamMembership,
  parseTeamMemberships,
  teamMembershipsText,
} from "../teams/membership-text.ts";
import { teamIsVisible } from "../teams/visibility.ts";
import { factsColumns, type OrganizationView, ruledFactsColumns } from "../organizations/definition.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import type { MembershipView } from "./definition.ts";
import { openWithId } from "../../shared/open-organizations.ts";

const newestFirst = [{ column: "m.createdAt", descending: true }, { column: "m.id" }] as const;

function selectMemberships(db: Kysely<Schema>) {
  return db
    .selectFrom("organizationMemberships as m")
    .innerJoin("organizations as o", openWithId("m.organizationId"))
    .leftJoin("users as u", "u.id", "m.userId")
    .selectAll("m")
    .select(ruledFactsColumns)
    .select(expiredCountOfMembership(sql.ref("m.id")).as("endedMemberships"))
    .select("u.username as username");
}

function visibleTeamsColumn(actor: Actor, standing: Pick<OrganizationStanding, "seesSecretTeams">) {
  return sql<string | null>`(
    select ${teamMembershipsText()} from team_members as tm
    inner join teams as t on t.id = tm.team_id
    where tm.membership_id = m.id and ${inForce("tm")} and ${teamIsVisible(actor, standing)})`.as("teams");
}

type MembershipRow = Omit<MembershipView, "teamIds" | "expiries"> & { teams: string | null };

function toView({ teams, ...row }: MembershipRow): MembershipView {
  const teamMemberships = parseTeamMemberships(teams);
  return { ...row, teamIds: teamMemberships.map(({ teamId }) => teamId), expiries: expiriesByTeam(teamMemberships) };
}

async function fetchMembershipPage(tx: Tx, rows: SelectQueryBuilder<any, "m", MembershipRow>, page: Page) {
  const totals = { totalCount: countOf(rows.clearSelect().select("m.id")) };
  const found = await fetchPage(tx, { rows, order: newestFirst, page, totals });
  return { views: found.rows.map(toView), totalCount: found.totals.totalCount };
}

/** A separate statement, because a statement that waits for a row lock reads its subqueries as of before the wait. */
async function lockMembership(tx: Tx, id: string, lock: RowLock): Promise<void> {
  await tx.db
    .selectFrom("organizationMemberships as m")
    .innerJoin("organizations as o", openWithId("m.organizationId"))
    .select("m.id")
    .where("m.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "m", lock))
    .execute();
}

export async function findMembership(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<
  | { membership: MembershipView; standing: OrganizationStanding; isOwner: boolean; allTeamIds: readonly string[] }
  | undefined
> {
  if (lock !== false) await lockMembership(tx, id, lock);
  const row = await tx.db
    .selectFrom("organizationMemberships as m")
    .innerJoin("organizations as o", openWithId("m.organizationId"))
    .selectAll("m")
    .select(factsColumns)
    .select(expiredCountOfMembership(sql.ref("m.id")).as("endedMemberships"))
    .select(standingColumns(sql.ref("m.organizationId"), principalOf(actor)))
    .select(sql<string | null>`(select username from users where id = m.user_id)`.as("username"))
    // The row determines the caller's access, so this selects all teams and filters them below.
    .select(
      sql<string | null>`(
        select ${teamMembershipsText([sql`t.is_owners`, sql`t.visibility`])} from team_members as tm
        inner join teams as t on t.id = tm.team_id where tm.membership_id = m.id and ${inForce("tm")})`.as("allTeams"),
    )
    .select(
      sql<string | null>`(
        select string_agg(own.team_id, ',') from team_members as own
        where own.organization_id = m.organization_id and own.user_id = ${principalOf(actor)}
          and ${inForce("own")})`.as("ownTeams"),
    )
    .where("m.id", "=", id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { allTeams, ownTeams, ...membership } = row;
  const standing = checkedStandingOf(actor, row);
  const own = new Set([...(ownTeams ?? "").split(","), principalOf(actor)]);
  const teamMemberships = parseTeamMemberships(allTeams);
  const isVisible = ({ teamId, extra: [, visibility] }: TeamMembership) =>
    visibility === "organization" || standing.seesSecretTeams || own.has(teamId);
  return {
    membership: {
      ...membership,
      teamIds: teamMemberships.filter(isVisible).map(({ teamId }) => teamId),
      expiries: expiriesByTeam(teamMemberships),
    },
    standing,
    isOwner: teamMemberships.some(({ extra: [isOwners] }) => isOwners === "1"),
    allTeamIds: teamMemberships.map(({ teamId }) => teamId),
  };
}

export interface MembershipSearch {
  readonly page: Page;
  readonly searchText: string | undefined;
  readonly emails: readonly string[] | undefined;
  readonly status: string | undefined;
}

export async function listMembershipRows(
  tx: Tx,
  actor: Actor,
  organization: OrganizationView,
  search: MembershipSearch,
) {
  let rows = selectMemberships(tx.db)
    .where("m.organizationId", "=", organization.id)
    .select(visibleTeamsColumn(actor, organization.standing));
  if (search.status !== undefined) rows = rows.where("m.status", "=", search.status);
  if (search.emails !== undefined)
    rows = rows.where(tx.dialect.isOneOf(sql.ref("m.emailKey"), search.emails.map(fold)));
  if (search.searchText)
    rows = rows.where(containsWords(tx.dialect, [sql.ref("m.emailKey"), sql.ref("u.usernameKey")], search.searchText));
  return fetchMembershipPage(tx, rows, search.page);
}

export async function membershipsWhere(
  tx: Tx,
  actor: Actor,
  standing: Pick<OrganizationStanding, "seesSecretTeams">,
  condition: RawBuilder<SqlBool>,
): Promise<MembershipView[]> {
  const rows = await selectMemberships(tx.db)
    .select(visibleTeamsColumn(actor, standing))
    .where(condition)
    .orderBy("m.id")
    .execute();
  return rows.map(toView);
}

export async function listRowsInTeam(
  tx: Tx,
  actor: Actor,
  team: { readonly id: string; readonly standing: OrganizationStanding },
  page: Page,
) {
  const rows = selectMemberships(tx.db)
    .select(visibleTeamsColumn(actor, team.standing))
    .where("m.id", "in", (query) =>
      query
        .selectFrom("teamMembers as tm")
        .select("tm.membershipId")
        .where("tm.teamId", "=", team.id)
        .where(inForce("tm")),
    );
  return fetchMembershipPage(tx, rows, page);
}

export async function listOwnMembershipRows(tx: Tx, actor: Actor & { readonly kind: "user" }, page: Page) {
  const rows = selectMemberships(tx.db)
    .where("m.userId", "=", actor.userId)
    .where(isOpenTo(actor))
    .select(
      sql<string | null>`(select ${teamMembershipsText()} from team_members as tm
        where tm.membership_id = m.id and ${inForce("tm")})`.as("teams"),
    );
  return fetchMembershipPage(tx, rows, page);
}

export interface AddressLookup {
  readonly user: UserTable | undefined;
  readonly isTaken: boolean;
  readonly signsInElsewhere: boolean;
}

export async function lookUpAddress(tx: Tx, organizationId: string, emailKey: string): Promise<AddressLookup> {
  const providers = sql`select 1 from sso_providers as s where s.organization_id <> ${organizationId} and (
    s.organization_id in (select m.organization_id from organization_memberships as m where m.user_id = u.id)
    or s.id in (select i.sso_provider_id from sso_identities as i where i.user_id = u.id))`;
  const result = await sql<UserTable & { matchCount: number; hasOtherProvider: number }>`
    select u.*, found.match_count, case when exists (${providers}) then 1 else 0 end as has_other_provider from (
      select count(*) as match_count from organization_memberships where organization_id = ${organizationId}
        and (email_key = ${emailKey} or user_id = (select id from users where email_key = ${emailKey}))) as found
    left join users as u on u.email_key = ${emailKey}`.execute(tx.db);
  const [row] = result.rows;
  if (row === undefined) return { user: undefined, isTaken: false, signsInElsewhere: false };
  const { matchCount, hasOtherProvider, ...user } = row;
  return {
    user: user.id === null ? undefined : user,
    isTaken: Number(matchCount) > 0,
    signsInElsewhere: Number(hasOtherProvider) > 0,
  };
}

export async function insertMembership(
  tx: Tx,
  _into: Granted<OrganizationView, "can-manage-memberships">,
  row: OrganizationMembershipTable,
): Promise<void> {
  await tx.db.insertInto("organizationMemberships").values(row).execute();
}

export async function deleteMembershipRow(tx: Tx, membership: Granted<MembershipView, "can-destroy">): Promise<void> {
  await tx.db.deleteFrom("organizationMemberships").where("id", "=", membership.id).execute();
}
