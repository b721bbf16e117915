/** SQL of who gets notifications about an access request. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { Dialect } from "../../../database/dialect.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import type { NotifiedRequest } from "../../shared/hooks.ts";
import { isInApproverTeam, isLikelyBeneficiary, meetsAllRequirements, partyRoles } from "./conditions.ts";

/**
 * Users who can decide. The outer condition finds the few who can meet the requirements at all: members of teams with permissions in the
 * organization, with access to what the changes name, or that approve the offer.
 */
export function decidersOf(dialect: Dialect, requestId: string): RawBuilder<string> {
  const user = sql.ref<string>("m.userId");
  const decides = sql<SqlBool>`(${isInApproverTeam(user)} or ${meetsAllRequirements(dialect, user)})`;
  return sql<string>`(
    select m.user_id from access_requests as r
    inner join organization_memberships as m
      on m.organization_id = r.organization_id and m.status = 'active' and m.user_id <> r.requester_id
    where r.id = ${requestId} and m.user_id in (
        select tm.user_id from team_members as tm
        where tm.organization_id = r.organization_id and ${inForce("tm")} and tm.team_id in ${likelyTeams()})
      and not ${isLikelyBeneficiary(user)} and ${decides})`;
}

const likelyTeams = () => sql`(
  select t.id from teams as t where t.organization_id = r.organization_id and t.organization_access <> 0
  union all
  select g.team_id from access_request_requirements as need
  inner join team_projects as g on g.organization_id = r.organization_id and g.project_id = need.subject_id
  where need.request_id = r.id and need.kind = 'project' and ${inForce("g")}
  union all
  select g.team_id from access_request_requirements as need
  inner join workspaces as w on w.id = need.subject_id
  inner join team_projects as g on g.organization_id = r.organization_id and g.project_id = w.project_id
  where need.request_id = r.id and need.kind = 'workspace' and ${inForce("g")}
  union all
  select g.team_id from access_request_requirements as need
  inner join team_workspaces as g on g.organization_id = r.organization_id and g.workspace_id = need.subject_id
  where need.request_id = r.id and need.kind = 'workspace' and ${inForce("g")}
  union all
  select party.subject_id from access_request_parties as party
  where party.request_id = r.id and party.role = ${sql.lit(partyRoles.approverTeam)})`;

const isOfOwners = (organizationId: string) => sql<SqlBool>`
  t.organization_id = ${organizationId} and t.is_owners = 1`;

export const teamsOfOwners = (organizationId: string): RawBuilder<string> =>
  sql<string>`(select t.id from teams as t where ${isOfOwners(organizationId)})`;

export const teamsOfUsers = (organizationId: string, users: RawBuilder<string>): RawBuilder<string> => sql<string>`(
  select tm.team_id from team_members as tm
  where tm.organization_id = ${organizationId} and ${inForce("tm")} and tm.user_id in ${users})`;

export const ownersOf = (organizationId: string): RawBuilder<string> => sql<string>`(
  select tm.user_id from teams as t
  inner join team_members as tm on tm.team_id = t.id and ${inForce("tm")}
  where ${isOfOwners(organizationId)} and tm.user_id is not null)`;

/** The first by name. */
export async function firstUsers(tx: Tx, users: RawBuilder<string>, max?: number): Promise<string[]> {
  const limit = max === undefined ? sql`` : sql`limit ${max}`;
  const { rows } = await sql<{ id: string }>`
    select u.id from users as u where u.id in ${users} order by u.username_key, u.id ${limit}`.execute(tx.db);
  return rows.map(({ id }) => id);
}

interface RequestNames {
  readonly requestedBy: string | null;
  readonly decidedBy: string | null;
  readonly offerName: string | null;
}

export async function findRequestNames(
  tx: Tx,
  { requesterId, decidedById, offerId }: Pick<NotifiedRequest, "requesterId" | "decidedById" | "offerId">,
): Promise<RequestNames> {
  const username = (id: string | null) => sql<string | null>`(select username from users where id = ${id})`;
  return tx.db
    .selectNoFrom([
      username(requesterId).as("requestedBy"),
      username(decidedById).as("decidedBy"),
      sql<string | null>`(select name from access_offers where id = ${offerId})`.as("offerName"),
    ])
    .executeTakeFirstOrThrow();
}

/** Undefined for users who are not active members. */
export async function findMailAddress(tx: Tx, organizationId: string, userId: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("organizationMemberships as m")
    .innerJoin("users as u", "u.id", "m.userId")
    .select("u.email")
    .where("m.organizationId", "=", organizationId)
    .where("m.userId", "=", userId)
    .where("m.status", "=", "active")
    .executeTakeFirst();
  return row?.email;
}
