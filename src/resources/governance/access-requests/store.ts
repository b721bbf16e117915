/** SQL of access requests. */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf, type OrganizationStanding } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { nowParameter } from "../../../database/now-parameter.ts";
import type { AccessRequestTable } from "../../../database/schema/access-requests.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { nowMs } from "../../../kernel/time.ts";
import {
  factsColumns,
  type OrganizationFacts,
  type OrganizationView,
} from "../../identity/organizations/definition.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { openWithId } from "../../shared/open-organizations.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { rowBatches } from "../../shared/row-batches.ts";
import { updateRow } from "../../shared/versions.ts";
import { accessVersionColumns, accessVersionText } from "../../sharing/access-previews/reads.ts";
import {
  canDecideSome,
  currentStatus,
  hasLapsed,
  isInApproverTeam,
  isLikelyBeneficiary,
  isPending,
  meetsAllRequirements,
  partyRoles,
} from "./conditions.ts";
import type { AccessRequestStatus } from "./definition.ts";
import type { Requirement } from "./requirements.ts";
import type { AccessRequestFacts } from "./rules.ts";

const flag = (condition: RawBuilder<SqlBool>): RawBuilder<number> =>
  sql<number>`case when ${condition} then 1 else 0 end`;

/** All but the effects, which can be large. */
const listedColumns = [
  "r.id",
  "r.organizationId",
  "r.requesterId",
  "r.offerId",
  "r.status",
  "r.reason",
  "r.changes",
  "r.durationSeconds",
  "r.lapsesAt",
  "r.decidedAt",
  "r.decidedById",
  "r.decisionComment",
  "r.rules",
  "r.createdAt",
  "r.version",
] as const satisfies `r.${keyof AccessRequestTable}`[];

function requestQuery(tx: Tx, actor: Actor, organizationId: Expression<string>, canMakeAll: RawBuilder<SqlBool>) {
  const principal = principalOf(actor);
  return tx.db
    .selectFrom("accessRequests as r")
    .innerJoin("organizations as o", openWithId("r.organizationId"))
    .select(listedColumns)
    .select(currentStatus.as("currentStatus"))
    .select(factsColumns)
    .select(accessVersionColumns(organizationId))
    .select([
      flag(canMakeAll).as("canMakeAll"),
      flag(isLikelyBeneficiary(principal)).as("isBeneficiary"),
      flag(isInApproverTeam(principal)).as("isInApproverTeam"),
    ]);
}

interface ListedRow extends Omit<AccessRequestTable, "effects">, OrganizationFacts {
  readonly currentStatus: string;
  readonly currentAccessVersion: number | null;
  readonly nextExpiresAt: string | null;
  readonly canMakeAll: number;
  readonly isBeneficiary: number;
  readonly isInApproverTeam: number;
}

function factsOf(
  actor: Actor,
  standing: OrganizationStanding,
  { changes, rules, ...row }: ListedRow,
  effects: string | null = null,
): AccessRequestFacts {
  return {
    ...row,
    standing,
    status: row.currentStatus as AccessRequestStatus,
    changes: JSON.parse(changes) as AccessRequestFacts["changes"],
    storedEffects: effects === null ? null : (JSON.parse(effects) as AccessRequestFacts["storedEffects"]),
    rules: JSON.parse(rules) as AccessRequestFacts["rules"],
    accessVersion: accessVersionText(row),
    isRequester: actor.kind === "user" && actor.userId === row.requesterId,
    canMakeAll: standing.owner || Number(row.canMakeAll) === 1,
    isBeneficiary: Number(row.isBeneficiary) === 1,
    isInApproverTeam: Number(row.isInApproverTeam) === 1,
  };
}

export async function findRequest(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<AccessRequestFacts | undefined> {
  const principal = principalOf(actor);
  const organizationId = sql.ref<string>("r.organizationId");
  const row = await requestQuery(tx, actor, organizationId, meetsAllRequirements(tx.dialect, principal))
    .select("r.effects")
    .select(standingColumns(organizationId, principal))
    .where("r.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "r", lock))
    .executeTakeFirst();
  return row && factsOf(actor, checkedStandingOf(actor, row), row, row.effects);
}

interface RequestFilter {
  readonly status: AccessRequestStatus | undefined;
  readonly requesterId: string | undefined;
  readonly mine: "to-decide" | "requested" | undefined;
}

export async function listRequestRows(
  tx: Tx,
  actor: Actor,
  organization: OrganizationView,
  filter: RequestFilter,
  page: Page,
): Promise<{ requests: AccessRequestFacts[]; totalCount: number }> {
  const principal = principalOf(actor);
  const organizationId = sql<string>`${organization.id}`;
  const canMakeAll = organization.standing.owner
    ? sql<SqlBool>`1 = 1`
    : sql<SqlBool>`(${canDecideSome(organizationId, principal)} and ${meetsAllRequirements(tx.dialect, principal)})`;
  const matching = sql<SqlBool>`${sql.join(listConditions(actor, organization, filter, canMakeAll), sql` and `)}`;
  // Without a reference to the row, so that the engines compute the access version once.
  const rows = requestQuery(tx, actor, organizationId, canMakeAll).where(matching);
  const counted = tx.db.selectFrom("accessRequests as r").select("r.id").where(matching);
  const found = await fetchPage(tx, {
    rows,
    order: [
      { column: "r.createdAt", descending: true },
      { column: "r.id", descending: true },
    ],
    page,
    totals: { totalCount: countOf(counted) },
  });
  return {
    requests: found.rows.map((row) => factsOf(actor, organization.standing, row)),
    totalCount: found.totals.totalCount,
  };
}

function listConditions(
  actor: Actor,
  { id, standing }: OrganizationView,
  { status, requesterId, mine }: RequestFilter,
  canMakeAll: RawBuilder<SqlBool>,
): RawBuilder<SqlBool>[] {
  const principal = principalOf(actor);
  const canDecide = sql<SqlBool>`(${isInApproverTeam(principal)} or ${canMakeAll})`;
  const conditions: RawBuilder<SqlBool>[] = [sql<SqlBool>`r.organization_id = ${id}`];
  if (status === "pending") conditions.push(isPending);
  else if (status === "lapsed") conditions.push(hasLapsed);
  else if (status !== undefined) conditions.push(sql<SqlBool>`r.status = ${status}`);
  if (requesterId !== undefined) conditions.push(sql<SqlBool>`r.requester_id = ${requesterId}`);
  if (mine === "requested") conditions.push(sql<SqlBool>`r.requester_id = ${principal}`);
  if (mine === "to-decide" && actor.kind !== "user") conditions.push(sql<SqlBool>`1 = 0`);
  if (mine === "to-decide")
    conditions.push(
      isPending,
      sql<SqlBool>`r.requester_id <> ${principal}`,
      sql<SqlBool>`not ${isLikelyBeneficiary(principal)}`,
      canDecide,
    );
  if (!standing.owner) conditions.push(sql<SqlBool>`(r.requester_id = ${principal} or ${canDecide})`);
  return conditions;
}

export interface RequesterStanding {
  readonly isActive: boolean;
  readonly pendingCount: number;
  /** Of break-glass access in the last hour. */
  readonly breakGlassCount: number;
}

export async function findRequester(tx: Tx, organizationId: string, userId: string): Promise<RequesterStanding> {
  const hourAgo = new Date(nowMs() - 3_600_000).toISOString();
  const { isActive, pendingCount, breakGlassCount } = await tx.db
    .selectNoFrom([
      sql<number>`(select count(*) from organization_memberships as m
        where m.organization_id = ${organizationId} and m.user_id = ${userId} and m.status = 'active')`.as("isActive"),
      sql<number>`(select count(*) from access_requests as r
        where r.organization_id = ${organizationId} and r.requester_id = ${userId} and ${isPending})`.as(
        "pendingCount",
      ),
      sql<number>`(select count(*) from access_requests as r
        where r.organization_id = ${organizationId} and r.requester_id = ${userId} and r.created_at > ${hourAgo}
          and r.status = 'approved' and r.decided_by_id is null)`.as("breakGlassCount"),
    ])
    .executeTakeFirstOrThrow();
  return {
    isActive: Number(isActive) > 0,
    pendingCount: Number(pendingCount),
    breakGlassCount: Number(breakGlassCount),
  };
}

export interface ReferencedMember {
  readonly membershipId: string;
  readonly userId: string | null;
  readonly usernameKey: string | null;
}

/** By user ids or names, and by membership ids; each way uses its own index. */
export async function findNamedMembers(
  tx: Tx,
  organizationId: string,
  users: readonly string[],
  membershipIds: readonly string[],
): Promise<ReferencedMember[]> {
  const isNamed = (column: string, values: readonly string[]) => sql`
    m.organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref(column), values)}`;
  const columns = sql`m.id as membership_id, m.user_id, u.username_key`;
  const found = await sql<ReferencedMember>`
    select ${columns} from organization_memberships as m left join users as u on u.id = m.user_id
      where ${isNamed("m.id", membershipIds)}
    union
    select ${columns} from organization_memberships as m inner join users as u on u.id = m.user_id
      where ${isNamed("m.userId", users)}
    union
    select ${columns} from users as u inner join organization_memberships as m on m.user_id = u.id
      where ${isNamed("u.usernameKey", users.map(fold))}`.execute(tx.db);
  return found.rows;
}

interface RequestParties {
  readonly beneficiaryUserIds: readonly string[];
  readonly beneficiaryTeamIds: readonly string[];
  readonly approverTeamIds: readonly string[];
  readonly namedUserIds: readonly string[];
}

/** 64 KiB of changes can name more than 1,000 people. */
export async function insertRequest(
  tx: Tx,
  _by: Granted<OrganizationView, "can-traverse">,
  row: AccessRequestTable,
  requirements: readonly Requirement[],
  { beneficiaryUserIds, beneficiaryTeamIds, approverTeamIds, namedUserIds }: RequestParties,
): Promise<void> {
  const { id: requestId, organizationId } = row;
  await tx.db.insertInto("accessRequests").values(row).execute();
  const required = requirements.map((requirement, number) => ({ organizationId, requestId, number, ...requirement }));
  for (const batch of rowBatches(required)) await tx.db.insertInto("accessRequestRequirements").values(batch).execute();
  const parties = [
    ...beneficiaryUserIds.map((subjectId) => ({ role: partyRoles.beneficiaryUser, subjectId })),
    ...beneficiaryTeamIds.map((subjectId) => ({ role: partyRoles.beneficiaryTeam, subjectId })),
    ...approverTeamIds.map((subjectId) => ({ role: partyRoles.approverTeam, subjectId })),
    ...namedUserIds.map((subjectId) => ({ role: partyRoles.namedUser, subjectId })),
  ].map((party) => ({ organizationId, requestId, ...party }));
  for (const batch of rowBatches(parties)) await tx.db.insertInto("accessRequestParties").values(batch).execute();
}

/** Of the request's creation. */
export async function findNamedUserIds(tx: Tx, requestId: string): Promise<ReadonlySet<string>> {
  const rows = await tx.db
    .selectFrom("accessRequestParties")
    .select("subjectId")
    .where("requestId", "=", requestId)
    .where("role", "=", partyRoles.namedUser)
    .execute();
  return new Set(rows.map(({ subjectId }) => subjectId));
}

export async function updateRequest(
  tx: Tx,
  request: Granted<{ readonly id: string }, "can-approve" | "can-deny" | "can-withdraw">,
  changes: Partial<AccessRequestTable>,
): Promise<void> {
  await updateRow(tx, "accessRequests", request.id, changes);
}

export async function storeLapsedRequests(
  tx: Tx,
  _by: Capability<"job">,
  limit: number,
): Promise<{ id: string; organizationId: string }[]> {
  const due = tx.db
    .selectFrom("accessRequests")
    .select("id")
    .where("status", "=", "pending")
    .where(sql<SqlBool>`lapses_at <= ${nowParameter}`)
    .orderBy("lapsesAt")
    .orderBy("id")
    .limit(limit);
  return (
    tx.db
      .updateTable("accessRequests")
      .set({ status: "lapsed", version: sql<number>`version + 1` })
      .where("id", "in", due)
      // PostgreSQL checks it again after it has waited for a decision.
      .where("status", "=", "pending")
      .returning(["id", "organizationId"])
      .execute()
  );
}
