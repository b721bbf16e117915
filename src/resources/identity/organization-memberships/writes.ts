/** Writes to organization memberships for other modules. */
import type { Capability } from "../../../access/capability.ts";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import { RetryTransaction, type Tx } from "../../../database/database.ts";
import type { InvitationTable, TeamTable, UserTable } from "../../../database/schema/identity.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { conflict, notFound } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import { shownExpiry } from "../../shared/grants/expiry.ts";
import type { Context } from "../../shared/context.ts";
import { afterUpdate, incrementedVersion } from "../../shared/versions.ts";
import {
  activateTeamMemberships,
  removeEndedMembershipsOf,
  transferTeamMemberships,
  addFirstOwnerToTeam,
  removeEndedTeamMembers,
} from "../teams/writes.ts";
import { enforceRulesOnSeats, withoutForbiddenSeats } from "./accepted-seats.ts";
import { type MembershipView, organizationMemberships } from "./definition.ts";
import { newMembership } from "./rules.ts";
import { membershipsWhere } from "./store.ts";

type MembershipChangeContext = Pick<Context, "actor" | "requestId">;
type InvitationMergeContext = MembershipChangeContext & Pick<Context, "hooks" | "warn">;

export async function addFirstOwner(
  tx: Tx,
  by: Capability<"new-organization">,
  { id: ownersTeamId, organizationId }: TeamTable,
  userId: string,
): Promise<void> {
  const id = newId("organization-memberships");
  const createdAt = now();
  await tx.db
    .insertInto("organizationMemberships")
    .columns(["id", "organizationId", "userId", "email", "emailKey", "status", "createdAt", "version"])
    .expression((query) =>
      query
        .selectFrom("users")
        .select([
          sql<string>`${id}`.as("id"),
          sql<string>`${organizationId}`.as("organizationId"),
          "id as userId",
          "email",
          "emailKey",
          sql<string>`'active'`.as("status"),
          sql<string>`${createdAt}`.as("createdAt"),
          sql<number>`1`.as("version"),
        ])
        .where("id", "=", userId),
    )
    .execute();
  await addFirstOwnerToTeam(tx, by, { id, organizationId, userId, createdAt }, ownersTeamId);
}

/** Call after members joined or left teams, because membership documents list the teams. */
export async function incrementMembershipVersions(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.db
    .updateTable("organizationMemberships")
    .set(incrementedVersion)
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

export async function removeEndedTeamMemberships(
  tx: Tx,
  context: MembershipChangeContext,
  by: Capability<"job">,
  limit: number,
): Promise<number> {
  const ids = await removeEndedTeamMembers(tx, context, by, limit);
  if (ids.length > 0) await incrementMembershipVersions(tx, ids);
  return ids.length;
}

/** Call before a team is deleted, because membership documents list the teams. */
export async function incrementMembershipVersionsInTeam(
  tx: Tx,
  { id: teamId }: Granted<{ readonly id: string }, "can-destroy">,
): Promise<void> {
  await tx.db
    .updateTable("organizationMemberships")
    .set(incrementedVersion)
    .where("id", "in", (query) => query.selectFrom("teamMembers").select("membershipId").where("teamId", "=", teamId))
    .execute();
}

export async function ensureMemberships(
  tx: Tx,
  context: MembershipChangeContext,
  user: Granted<UserTable, "can-sign-in">,
  organizationIds: readonly string[],
): Promise<{ memberships: ReadonlyMap<string, string>; created: ReadonlySet<string> }> {
  if (organizationIds.length === 0) return { memberships: new Map(), created: new Set() };
  const present = await tx.db
    .selectFrom("organizationMemberships")
    .select(["id", "organizationId"])
    .where("userId", "=", user.id)
    .where(tx.dialect.isOneOf(sql.ref("organizationId"), organizationIds))
    .execute();
  const known = new Map(present.map(({ id, organizationId }) => [organizationId, id]));
  const { id: userId, email } = user;
  const rows = organizationIds
    .filter((id) => !known.has(id))
    .map((organizationId) => newMembership({ email }, organizationId, userId));
  if (rows.length > 0) {
    await tx.db.insertInto("organizationMemberships").values(rows).execute();
    const events = rows.map(({ id, organizationId, status }) => ({
      organizationId,
      verb: "create",
      subject: { type: organizationMemberships.type, id },
      after: { email, status, teams: [] },
    }));
    await recordEvents(tx, context, events);
  }
  const created = rows.map(({ id, organizationId }): [string, string] => [organizationId, id]);
  return { memberships: new Map([...known, ...created]), created: new Set(rows.map(({ id }) => id)) };
}

export type LockedOrganizations = ReadonlySet<string>;

/** Lock order: organizations by id, then the user's row, as when a member is added. */
export async function lockOrganizations(
  tx: Tx,
  {
    userId,
    emailKey,
    extraOrganizations,
    membershipId,
  }: {
    readonly userId?: string;
    readonly emailKey?: string;
    readonly extraOrganizations?: RawBuilder<string>;
    readonly membershipId?: string;
  },
): Promise<LockedOrganizations> {
  const related = tx.db
    .selectFrom("organizationMemberships as m")
    .select("m.organizationId")
    .where((where) =>
      where.or([
        where("m.userId", "=", userId ?? ""),
        where("m.id", "=", membershipId ?? ""),
        where.and([where("m.emailKey", "=", emailKey ?? ""), where("m.status", "=", "invited")]),
      ]),
    );
  const rows = await tx.db
    .selectFrom("openOrganizations as o")
    .select("o.id")
    .where((where) =>
      where.or([
        where("o.id", "in", related),
        ...(extraOrganizations === undefined ? [] : [sql<SqlBool>`o.id in ${extraOrganizations}`]),
      ]),
    )
    .orderBy("o.id")
    .modifyEnd(tx.dialect.lockRows("o"))
    .execute();
  return new Set(rows.map((row) => row.id));
}

/** Throws `RetryTransaction` if a membership was created concurrently in an organization that is not locked. */
function refuseUnlocked(memberships: readonly MembershipView[], locked: LockedOrganizations): void {
  if (!memberships.every(({ organizationId }) => locked.has(organizationId)))
    throw new RetryTransaction("a membership was created at the same time");
}

/**
 * `onlyIn`: ignores the invitations to other organizations. `acceptedIn`: the user accepts the invitation to this organization, so a
 * rule that refuses one of its seats refuses all, with `forbidden`. Other invitations lose such seats.
 */
export async function activateInvitations(
  tx: Tx,
  context: InvitationMergeContext,
  user: UserTable,
  locked: LockedOrganizations,
  { onlyIn, acceptedIn }: { readonly onlyIn?: string | null; readonly acceptedIn?: string | null } = {},
): Promise<void> {
  const all = await invitationsTo(tx, context, user);
  const invitations = all.filter(({ organizationId }) => onlyIn == null || organizationId === onlyIn);
  refuseUnlocked(invitations, locked);
  const accepted = invitations.filter(({ organizationId }) => organizationId === acceptedIn);
  const others = invitations.filter((invitation) => !accepted.includes(invitation));
  await enforceRulesOnSeats(tx, context, accepted, user);
  const joining = [...accepted, ...(await withoutForbiddenSeats(tx, context, others, user))];
  await recordMemberships(tx, context, await activate(tx, joining, user));
}

/** Accepts the invitations to the address. In organizations that the user is already in, merges them with their teams. */
export async function moveMembershipsToAddress(
  tx: Tx,
  context: InvitationMergeContext,
  user: UserTable,
  locked: LockedOrganizations,
): Promise<void> {
  const own = await withAllTeams(tx, context, sql<SqlBool>`m.user_id = ${user.id}`);
  const all = await invitationsTo(tx, context, user);
  refuseUnlocked([...own, ...all], locked);
  const invitations = await withoutForbiddenSeats(tx, context, all, user);
  const present = new Map(own.map((membership) => [membership.organizationId, membership]));
  const activated = await activate(
    tx,
    invitations.filter((invitation) => !present.has(invitation.organizationId)),
    user,
  );
  const merges = invitations.flatMap((invitation) => {
    const membership = present.get(invitation.organizationId);
    return membership === undefined ? [] : [{ invitation, membership, teamIds: teamsNewTo(invitation, membership) }];
  });
  await mergeInvitations(tx, context, merges);
  const { email, emailKey } = user;
  // Those in closed organizations stay as they are until a job deletes them.
  const ownIds = own.map(({ id }) => id);
  await tx.db
    .updateTable("organizationMemberships")
    .set({ email, emailKey, ...incrementedVersion })
    .where(tx.dialect.isOneOf(sql.ref("id"), ownIds))
    .execute();
  const moved = own.map((before) => {
    const addedTeamIds = merges.filter(({ membership }) => membership === before).flatMap(({ teamIds }) => teamIds);
    return { before, after: { ...before, email, teamIds: [...before.teamIds, ...addedTeamIds].toSorted() } };
  });
  await recordMemberships(tx, context, [
    ...activated,
    ...merges.map(({ invitation }) => ({ before: invitation })),
    ...moved,
  ]);
}

/** Accepts an invitation to any address. Throws `not-found`, and `conflict` if the user's own address is also invited. */
export async function acceptMembershipInvitation(
  tx: Tx,
  context: InvitationMergeContext,
  { membershipId, organizationId }: Granted<Pick<InvitationTable, "membershipId" | "organizationId">, "can-accept">,
  user: UserTable,
  locked: LockedOrganizations,
): Promise<MembershipView> {
  const found = await withAllTeams(
    tx,
    context,
    sql<SqlBool>`m.organization_id = ${organizationId}
      and (m.id = ${membershipId} or m.user_id = ${user.id} or m.email_key = ${user.emailKey})`,
  );
  refuseUnlocked(found, locked);
  const invitation = found.find(({ id, status }) => id === membershipId && status === "invited");
  const own = found.find(({ id }) => id !== membershipId);
  if (invitation === undefined) throw notFound("organization membership");
  if (own?.status === "invited")
    throw conflict(
      "Your own email address also has an invitation to this organization. Accept that invitation instead.",
    );
  await enforceRulesOnSeats(tx, context, [invitation], user);
  if (own === undefined) {
    const [accepted] = await activate(tx, [invitation], user, { email: user.email, emailKey: user.emailKey });
    await recordMemberships(tx, context, [{ ...accepted, verb: "accept-invitation" }]);
    return { ...(accepted?.after ?? invitation), username: user.username };
  }
  const teamIds = teamsNewTo(invitation, own);
  await mergeInvitations(tx, context, [{ invitation, membership: own, teamIds }]);
  await incrementMembershipVersions(tx, [own.id]);
  const after = { ...afterUpdate(own, {}), teamIds: [...own.teamIds, ...teamIds].toSorted() };
  await recordMemberships(tx, context, [{ before: invitation }, { before: own, after, verb: "accept-invitation" }]);
  return after;
}

export async function recordDepartures(
  tx: Tx,
  context: MembershipChangeContext,
  userId: string,
  locked: LockedOrganizations,
): Promise<void> {
  const leaving = await withAllTeams(tx, context, sql<SqlBool>`m.user_id = ${userId}`);
  refuseUnlocked(leaving, locked);
  await recordMemberships(
    tx,
    context,
    leaving.map((before) => ({ before })),
  );
}

interface MembershipChange {
  readonly before?: MembershipView;
  readonly after?: MembershipView;
  readonly verb?: string;
}

export async function recordMembership(
  tx: Tx,
  context: MembershipChangeContext,
  change: MembershipChange,
): Promise<void> {
  await recordMemberships(tx, context, [change]);
}

/** Records all teams of a membership, because they are deleted with it. */
async function recordMemberships(
  tx: Tx,
  context: MembershipChangeContext,
  changes: readonly MembershipChange[],
): Promise<void> {
  const audited = (view: MembershipView | undefined) =>
    view && {
      ...auditedAttributes(organizationMemberships, view),
      username: view.username,
      teams: view.teamIds,
      ...auditedExpiries(view),
    };
  const events = changes.flatMap(({ before, after, verb }) => {
    const subject = after ?? before;
    if (subject === undefined) return [];
    return {
      organizationId: subject.organizationId,
      verb: verb ?? (before === undefined ? "create" : after === undefined ? "delete" : "update"),
      subject: { type: organizationMemberships.type, id: subject.id },
      before: audited(before),
      after: audited(after),
    };
  });
  await recordEvents(tx, context, events);
}

/** The key `endings` is stored in the audit log. */
function auditedExpiries({ teamIds, expiries }: MembershipView): object {
  const shown = teamIds.flatMap((id) => {
    const expiry = shownExpiry(expiries?.get(id));
    return expiry === undefined ? [] : [[id, expiry]];
  });
  return shown.length === 0 ? {} : { endings: Object.fromEntries(shown) };
}

function withAllTeams(
  tx: Tx,
  { actor }: MembershipChangeContext,
  condition: RawBuilder<SqlBool>,
): Promise<MembershipView[]> {
  return membershipsWhere(tx, actor, { seesSecretTeams: true }, condition);
}

function invitationsTo(tx: Tx, context: MembershipChangeContext, { emailKey }: UserTable): Promise<MembershipView[]> {
  return withAllTeams(tx, context, sql<SqlBool>`m.email_key = ${emailKey} and m.status = 'invited'`);
}

async function activate(
  tx: Tx,
  invitations: readonly MembershipView[],
  user: UserTable,
  address: Partial<Pick<UserTable, "email" | "emailKey">> = {},
): Promise<MembershipChange[]> {
  if (invitations.length === 0) return [];
  const ids = invitations.map((invitation) => invitation.id);
  const active = { userId: user.id, status: "active", ...address };
  await tx.db
    .updateTable("organizationMemberships")
    .set({ ...active, ...incrementedVersion })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
  await activateTeamMemberships(tx, ids, user.id);
  return invitations.map((before) => ({ before, after: afterUpdate(before, active) }));
}

interface InvitationMerge {
  readonly invitation: MembershipView;
  readonly membership: MembershipView;
  readonly teamIds: readonly string[];
}

function teamsNewTo(invitation: MembershipView, membership: MembershipView): string[] {
  return invitation.teamIds.filter((id) => !membership.teamIds.includes(id));
}

async function mergeInvitations(
  tx: Tx,
  context: InvitationMergeContext,
  merges: readonly InvitationMerge[],
): Promise<void> {
  if (merges.length === 0) return;
  // An ended membership of the same team would conflict with the new one.
  await removeEndedMembershipsOf(
    tx,
    context,
    merges.map(({ membership }) => membership.id),
  );
  const transfers = merges.map(({ invitation, membership, teamIds }) => ({
    from: invitation.id,
    to: membership.id,
    teamIds,
  }));
  const userId = merges[0]?.membership.userId ?? null;
  const invitationIds = transfers.map(({ from }) => from);
  await transferTeamMemberships(tx, userId, transfers);
  if (userId !== null) await context.hooks.organizations.mergeInvitedRecipients(tx, userId, invitationIds);
  await tx.db
    .deleteFrom("organizationMemberships")
    .where(tx.dialect.isOneOf(sql.ref("id"), invitationIds))
    .execute();
}
