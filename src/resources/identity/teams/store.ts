/** SQL of teams and their members. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { containsWords, type Dialect } from "../../../database/dialect.ts";
import type { TeamTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import type { GrantExpiry } from "../../shared/grants/expiry.ts";
import type { GrantOrigin } from "../../shared/grants/origin.ts";
import { endsNoLaterThan, expiredCountInTeam, hasExpired, inForce } from "../../shared/grants/in-force.ts";
import { standingColumns, type StandingInput } from "../../shared/grants/reads.ts";
import { type OrganizationView, type RuledFacts, ruledFactsColumns } from "../organizations/definition.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import type { TeamView } from "./definition.ts";
import type { GroupTeam } from "./group-sync.ts";
import { includesActor, teamIsVisible } from "./visibility.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export function teamsForActor(db: Kysely<Schema>, actor: Actor) {
  return selectTeams(db, actor).select(standingColumns(sql.ref("t.organizationId"), principalOf(actor)));
}

function selectTeams(db: Kysely<Schema>, actor: Actor) {
  const principal = principalOf(actor);
  return db
    .selectFrom("teams as t")
    .innerJoin("organizations as o", openWithId("t.organizationId"))
    .selectAll("t")
    .select(ruledFactsColumns)
    .select(expiredCountInTeam(sql.ref("t.id")).as("endedMemberships"))
    .select(includesActor(principal).as("includesActor"));
}

interface TeamRow extends TeamTable, RuledFacts, StandingInput {
  readonly includesActor: number;
  readonly endedMemberships: number;
}

export function toTeamView(actor: Actor, row: TeamRow): TeamView {
  return { ...row, standing: checkedStandingOf(actor, row) };
}

export async function findTeam(tx: Tx, actor: Actor, id: string, lock: RowLock = false): Promise<TeamView | undefined> {
  const row = await teamsForActor(tx.db, actor)
    .where("t.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "t", lock))
    .executeTakeFirst();
  return row && toTeamView(actor, row);
}

export async function listTeamRows(
  tx: Tx,
  actor: Actor,
  organization: OrganizationView,
  search: { page: Page; searchText: string | undefined; names: readonly string[] | undefined },
): Promise<{ views: TeamView[]; totalCount: number }> {
  let rows = selectTeams(tx.db, actor)
    .where("t.organizationId", "=", organization.id)
    .where(teamIsVisible(actor, organization.standing));
  if (search.names !== undefined) rows = rows.where(tx.dialect.isOneOf(sql.ref("t.nameKey"), search.names.map(fold)));
  if (search.searchText) rows = rows.where(containsWords(tx.dialect, [sql.ref("t.nameKey")], search.searchText));
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "t.nameKey" }, { column: "t.id" }],
    page: search.page,
    totals: { totalCount: countOf(rows.clearSelect().select("t.id")) },
  });
  const { standing } = organization;
  return { views: found.rows.map((row): TeamView => ({ ...row, standing })), totalCount: found.totals.totalCount };
}

export async function isTeamNameTaken(tx: Tx, organizationId: string, name: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("teams")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("nameKey", "=", fold(name))
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertTeam(
  tx: Tx,
  _into: Granted<OrganizationView, "can-create-team"> | Capability<"new-organization">,
  row: TeamTable,
): Promise<void> {
  await tx.db.insertInto("teams").values(row).execute();
}

export async function updateTeamRow(
  tx: Tx,
  team: Granted<TeamView, "can-update">,
  changes: Partial<TeamTable>,
): Promise<void> {
  await updateRow(tx, "teams", team.id, changes);
}

export async function deleteTeamRow(tx: Tx, team: Granted<TeamView, "can-destroy">): Promise<void> {
  await tx.db.deleteFrom("teams").where("id", "=", team.id).execute();
}

export interface TeamMemberRow {
  readonly membershipId: string;
  readonly userId: string | null;
  readonly username: string | null;
  readonly isMember: number;
  readonly hasEnded: number;
  readonly expiresAt: string | null;
  readonly reason: string | null;
  /** Null if the membership was granted manually. */
  readonly ssoProviderId: string | null;
}

export async function findMembers(
  tx: Tx,
  team: TeamView,
  by: "users" | "organization-memberships",
  keys: readonly string[],
): Promise<TeamMemberRow[]> {
  const { isOneOf } = tx.dialect;
  const ids = keys.filter(looksLikeUserId);
  const names = keys.filter((key) => !looksLikeUserId(key)).map(fold);
  const isRequested =
    by === "users"
      ? sql<boolean>`(${isOneOf(sql.ref("u.usernameKey"), names)} or ${isOneOf(sql.ref("u.id"), ids)})`
      : isOneOf(sql.ref("m.id"), keys);
  return tx.db
    .selectFrom("organizationMemberships as m")
    .leftJoin("users as u", "u.id", "m.userId")
    .leftJoin("teamMembers as tm", (join) => join.on("tm.teamId", "=", team.id).onRef("tm.membershipId", "=", "m.id"))
    .select(["m.id as membershipId", "m.userId as userId", "u.username as username"])
    .select(["tm.expiresAt", "tm.reason", "tm.ssoProviderId"])
    .select(sql<number>`case when tm.team_id is not null and ${inForce("tm")} then 1 else 0 end`.as("isMember"))
    .select(sql<number>`case when ${hasExpired("tm")} then 1 else 0 end`.as("hasEnded"))
    .where("m.organizationId", "=", team.organizationId)
    .where(isRequested as never)
    .execute();
}

/** Ended memberships and those from a group become manual. */
export async function upsertMembers(
  tx: Tx,
  team: Granted<TeamView, "can-update-membership">,
  members: readonly TeamMemberRow[],
  origin: GrantOrigin,
  createdAt: string,
): Promise<void> {
  const keepsOrigin = sql`${inForce("teamMembers")} and team_members.sso_provider_id is null
    and ${endsNoLaterThan("excluded", "teamMembers")}`;
  const originAfter = (column: string) =>
    sql<
      string | null
    >`case when ${keepsOrigin} then ${sql.ref(`team_members.${column}`)} else ${sql.ref(`excluded.${column}`)} end`;
  await tx.db
    .insertInto("teamMembers")
    .values(
      members.map(({ membershipId, userId, expiresAt, reason }) => ({
        organizationId: team.organizationId,
        teamId: team.id,
        membershipId,
        userId,
        expiresAt,
        reason,
        ...origin,
        createdAt,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["teamId", "membershipId"]).doUpdateSet((excluded) => ({
        expiresAt: excluded.ref("excluded.expiresAt"),
        reason: excluded.ref("excluded.reason"),
        grantedById: originAfter("grantedById"),
        accessRequestId: originAfter("accessRequestId"),
        ssoProviderId: null,
        ssoGroup: null,
      })),
    )
    .execute();
}

export async function deleteMembers(
  tx: Tx,
  team: Granted<TeamView, "can-update-membership">,
  members: readonly TeamMemberRow[],
): Promise<void> {
  await tx.db
    .deleteFrom("teamMembers")
    .where("teamId", "=", team.id)
    .where(
      tx.dialect.isOneOf(
        sql.ref("membershipId"),
        members.map((member) => member.membershipId),
      ),
    )
    .execute();
}

export async function changeUsersCount(
  tx: Tx,
  team: Granted<TeamView, "can-update-membership">,
  change: number,
): Promise<void> {
  await updateRow(tx, "teams", team.id, { usersCount: sql`users_count + ${change}` });
}

export interface UserGroups {
  readonly userId: string;
  readonly providerId: string;
  readonly groups: readonly string[];
  /** Null for a site provider. */
  readonly organizationId: string | null;
}

export function teamIdsOfGroups(
  { isOneOf }: Dialect,
  { userId, providerId, groups, organizationId }: UserGroups,
): RawBuilder<string> {
  const withinOrganization = organizationId === null ? sql`` : sql`and mapped.organization_id = ${organizationId}`;
  return sql<string>`(
    select mapped.id from teams as mapped inner join open_organizations as o on o.id = mapped.organization_id
    where mapped.sso_team_id is not null and ${isOneOf(sql.ref("mapped.ssoTeamId"), groups)} and o.is_disabled = 0 ${withinOrganization}
    union
    select synced.team_id from team_members as synced
    where synced.sso_provider_id = ${providerId} and synced.user_id = ${userId})`;
}

export async function lockTeamsOfGroups(tx: Tx, person: UserGroups): Promise<GroupTeam[]> {
  return tx.db
    .selectFrom("teams as t")
    .leftJoin("organizationMemberships as m", (join) =>
      join.onRef("m.organizationId", "=", "t.organizationId").on("m.userId", "=", person.userId),
    )
    .leftJoin("teamMembers as tm", (join) => join.onRef("tm.teamId", "=", "t.id").onRef("tm.membershipId", "=", "m.id"))
    .select(["t.id as teamId", "t.organizationId", "t.ssoTeamId", "t.isOwners", "m.id as membershipId"])
    .select(["tm.expiresAt", "tm.reason", "tm.ssoProviderId as membershipProviderId"])
    .select(
      sql<number>`(select o.enabled_rule_count from open_organizations as o where o.id = t.organization_id)`.as(
        "enabledRuleCount",
      ),
    )
    .select(sql<number>`case when tm.team_id is not null and ${inForce("tm")} then 1 else 0 end`.as("isMember"))
    .select(sql<number>`case when ${hasExpired("tm")} then 1 else 0 end`.as("hasEnded"))
    .select(
      sql<number>`(select count(*) from team_members as other where other.team_id = t.id and t.is_owners = 1
        and other.user_id <> ${person.userId} and other.expires_at is null)`.as("otherPermanentOwnerCount"),
    )
    .where("t.id", "in", teamIdsOfGroups(tx.dialect, person) as never)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t"))
    .execute();
}

export async function membersOf(
  tx: Tx,
  teamIds: readonly string[],
): Promise<({ teamId: string; membershipId: string; userId: string | null } & GrantExpiry)[]> {
  return tx.db
    .selectFrom("teamMembers as tm")
    .select(["tm.teamId", "tm.membershipId", "tm.userId", "tm.expiresAt", "tm.reason"])
    .where(tx.dialect.isOneOf(sql.ref("tm.teamId"), teamIds))
    .where(inForce("tm"))
    .orderBy("tm.teamId")
    .orderBy("tm.membershipId")
    .execute();
}

/** Of people who have not accepted their invitations, whom teams don't count. */
export async function deleteInvitedSeats(
  tx: Tx,
  seats: readonly { readonly teamId: string; readonly membershipId: string }[],
): Promise<void> {
  await tx.db
    .deleteFrom("teamMembers")
    .where("userId", "is", null)
    .where((where) =>
      where.or(
        seats.map(({ teamId, membershipId }) =>
          where.and([where("teamId", "=", teamId), where("membershipId", "=", membershipId)]),
        ),
      ),
    )
    .execute();
}
