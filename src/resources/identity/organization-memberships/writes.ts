/** What neighbours have done to memberships. */
import type { Capability } from "../../../access/capability.ts";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import { Overtaken, type Tx } from "../../../database/database.ts";
import type { InvitationTable, TeamTable, UserTable } from "../../../database/schema/identity.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { conflict, notFound } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import { shownEnding } from "../../shared/grants/ending.ts";
import type { Context } from "../../shared/context.ts";
import { afterUpdate, raised } from "../../shared/versions.ts";
import { activateSeats, endSeatsOf, inheritSeats, seatFirstOwner, tidySeats } from "../teams/writes.ts";
import { type MembershipView, organizationMemberships } from "./definition.ts";
import { newMembership } from "./rules.ts";
import { membershipsWhere } from "./store.ts";

/** Who makes a change. */
type Maker = Pick<Context, "actor" | "requestId">;
/** The same, where an invitation may be joined with a membership. */
type Joiner = Maker & Pick<Context, "hooks">;

/** The maker of an organization becomes a member and an owner. */
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
  await seatFirstOwner(tx, by, { id, organizationId, userId, createdAt }, ownersTeamId);
}

/** Memberships show the teams of their people: these have joined some, or left. */
export async function raiseMemberships(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.db
    .updateTable("organizationMemberships")
    .set(raised)
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

/** Places in teams that have ended go, as `tidySeats` says. Gives how many. */
export async function tidyMemberships(tx: Tx, context: Maker, by: Capability<"job">, limit: number): Promise<number> {
  const ids = await tidySeats(tx, context, by, limit);
  if (ids.length > 0) await raiseMemberships(tx, ids);
  return ids.length;
}

/** Before a team goes: the memberships of its people show one less. */
export async function raiseMembershipsInTeam(
  tx: Tx,
  { id: teamId }: Granted<{ readonly id: string }, "can-destroy">,
): Promise<void> {
  await tx.db
    .updateTable("organizationMemberships")
    .set(raised)
    .where("id", "in", (query) => query.selectFrom("teamMembers").select("membershipId").where("teamId", "=", teamId))
    .execute();
}

/** Who has signed in by a provider is a member where it, or one of its groups, says so. Gives the memberships by organization. */
export async function admitMembers(
  tx: Tx,
  context: Maker,
  user: Granted<UserTable, "can-sign-in">,
  organizationIds: readonly string[],
): Promise<{ memberships: ReadonlyMap<string, string>; made: ReadonlySet<string> }> {
  if (organizationIds.length === 0) return { memberships: new Map(), made: new Set() };
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
  const made = rows.map(({ id, organizationId }): [string, string] => [organizationId, id]);
  return { memberships: new Map([...known, ...made]), made: new Set(rows.map(({ id }) => id)) };
}

/** Organizations that are held, by id. */
export type Held = ReadonlySet<string>;

/**
 * Before a user comes, goes, gets another address or accepts an invitation: holds the organizations whose memberships change with it, in the order of
 * their ids and before the user, as whoever makes somebody a member does.
 */
export async function holdOrganizations(
  tx: Tx,
  {
    userId,
    emailKey,
    further,
    membershipId,
  }: {
    readonly userId?: string;
    readonly emailKey?: string;
    readonly further?: RawBuilder<string>;
    readonly membershipId?: string;
  },
): Promise<Held> {
  const concerned = tx.db
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
    .selectFrom("organizations as o")
    .select("o.id")
    .where((where) =>
      where.or([where("o.id", "in", concerned), ...(further === undefined ? [] : [sql<SqlBool>`o.id in ${further}`])]),
    )
    .orderBy("o.id")
    .modifyEnd(tx.dialect.lockRows("o"))
    .execute();
  return new Set(rows.map((row) => row.id));
}

/** Raises `Overtaken` for a membership of an organization that is not held: it was made meanwhile. */
function refuseUnheld(memberships: readonly MembershipView[], held: Held): void {
  if (!memberships.every(({ organizationId }) => held.has(organizationId)))
    throw new Overtaken("a membership was made meanwhile");
}

/** A user appears: the invitations to its address become memberships, in their teams too. */
export async function activateInvitations(
  tx: Tx,
  context: Maker,
  user: UserTable,
  held: Held,
  /** Where the address counts in one organization alone. */
  organizationId?: string,
): Promise<void> {
  const all = await invitationsTo(tx, context, user);
  const invitations = all.filter((invitation) => [undefined, invitation.organizationId].includes(organizationId));
  refuseUnheld(invitations, held);
  await recordMemberships(tx, context, await activate(tx, invitations, user));
}

/**
 * A user has another address: the memberships go by it from now on, and the invitations to it are the user's. One in an
 * organization that the user is in already is taken over with its teams.
 */
export async function moveMemberships(tx: Tx, context: Joiner, user: UserTable, held: Held): Promise<void> {
  const own = await withAllTeams(tx, context, sql<SqlBool>`m.user_id = ${user.id}`);
  const invitations = await invitationsTo(tx, context, user);
  refuseUnheld([...own, ...invitations], held);
  const present = new Map(own.map((membership) => [membership.organizationId, membership]));
  const activated = await activate(
    tx,
    invitations.filter((invitation) => !present.has(invitation.organizationId)),
    user,
  );
  const doubles = invitations.flatMap((invitation) => {
    const membership = present.get(invitation.organizationId);
    return membership === undefined ? [] : [{ invitation, membership, teamIds: newTeams(invitation, membership) }];
  });
  await takeOver(tx, context, doubles);
  const { email, emailKey } = user;
  await tx.db
    .updateTable("organizationMemberships")
    .set({ email, emailKey, ...raised })
    .where("userId", "=", user.id)
    .execute();
  const moved = own.map((before) => {
    const taken = doubles.filter(({ membership }) => membership === before).flatMap(({ teamIds }) => teamIds);
    return { before, after: { ...before, email, teamIds: [...before.teamIds, ...taken].toSorted() } };
  });
  await recordMemberships(tx, context, [
    ...activated,
    ...doubles.map(({ invitation }) => ({ before: invitation })),
    ...moved,
  ]);
}

/**
 * Somebody accepts an invitation by its link, whatever address it was sent to: it is theirs from now on, or is joined with the
 * membership that they have there already. Raises `not-found`, and `conflict` where their own address is invited there, too.
 */
export async function takeInvitation(
  tx: Tx,
  context: Joiner,
  { membershipId, organizationId }: Granted<Pick<InvitationTable, "membershipId" | "organizationId">, "can-accept">,
  user: UserTable,
  held: Held,
): Promise<MembershipView> {
  const found = await withAllTeams(
    tx,
    context,
    sql<SqlBool>`m.organization_id = ${organizationId}
      and (m.id = ${membershipId} or m.user_id = ${user.id} or m.email_key = ${user.emailKey})`,
  );
  refuseUnheld(found, held);
  const invitation = found.find(({ id, status }) => id === membershipId && status === "invited");
  const own = found.find(({ id }) => id !== membershipId);
  if (invitation === undefined) throw notFound("organization membership");
  if (own?.status === "invited")
    throw conflict("Your own address is invited to this organization, too: accept that invitation instead.");
  if (own === undefined) {
    const [taken] = await activate(tx, [invitation], user, { email: user.email, emailKey: user.emailKey });
    await recordMemberships(tx, context, [{ ...taken, verb: "accept-invitation" }]);
    return { ...(taken?.after ?? invitation), username: user.username };
  }
  const teamIds = newTeams(invitation, own);
  await takeOver(tx, context, [{ invitation, membership: own, teamIds }]);
  await raiseMemberships(tx, [own.id]);
  const after = { ...afterUpdate(own, {}), teamIds: [...own.teamIds, ...teamIds].toSorted() };
  await recordMemberships(tx, context, [{ before: invitation }, { before: own, after, verb: "accept-invitation" }]);
  return after;
}

/** Before a user goes: each organization's trail tells that it loses a member. */
export async function recordDepartures(tx: Tx, context: Maker, userId: string, held: Held): Promise<void> {
  const leaving = await withAllTeams(tx, context, sql<SqlBool>`m.user_id = ${userId}`);
  refuseUnheld(leaving, held);
  await recordMemberships(
    tx,
    context,
    leaving.map((before) => ({ before })),
  );
}

interface MembershipChange {
  readonly before?: MembershipView;
  readonly after?: MembershipView;
  /** Where it tells more than that something changed. */
  readonly verb?: string;
}

export async function recordMembership(tx: Tx, context: Maker, change: MembershipChange): Promise<void> {
  await recordMemberships(tx, context, [change]);
}

/** In the trail a membership tells all its teams, because they come and go with it. */
async function recordMemberships(tx: Tx, context: Maker, changes: readonly MembershipChange[]): Promise<void> {
  const told = (view: MembershipView | undefined) =>
    view && {
      ...auditedAttributes(organizationMemberships, view),
      username: view.username,
      teams: view.teamIds,
      ...shownEndings(view),
    };
  const events = changes.flatMap(({ before, after, verb }) => {
    const subject = after ?? before;
    if (subject === undefined) return [];
    return {
      organizationId: subject.organizationId,
      verb: verb ?? (before === undefined ? "create" : after === undefined ? "delete" : "update"),
      subject: { type: organizationMemberships.type, id: subject.id },
      before: told(before),
      after: told(after),
    };
  });
  await recordEvents(tx, context, events);
}

/** Those of its places in teams that end, or have a reason, by team. */
function shownEndings({ teamIds, endings }: MembershipView): object {
  const shown = teamIds.flatMap((id) => {
    const ending = shownEnding(endings?.get(id));
    return ending === undefined ? [] : [[id, ending]];
  });
  return shown.length === 0 ? {} : { endings: Object.fromEntries(shown) };
}

function withAllTeams(tx: Tx, { actor }: Maker, condition: RawBuilder<SqlBool>): Promise<MembershipView[]> {
  return membershipsWhere(tx, actor, { seesSecretTeams: true }, condition);
}

function invitationsTo(tx: Tx, context: Maker, { emailKey }: UserTable): Promise<MembershipView[]> {
  return withAllTeams(tx, context, sql<SqlBool>`m.email_key = ${emailKey} and m.status = 'invited'`);
}

/** Whatever their number, the same few statements. */
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
    .set({ ...active, ...raised })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
  await activateSeats(tx, ids, user.id);
  return invitations.map((before) => ({ before, after: afterUpdate(before, active) }));
}

interface Double {
  readonly invitation: MembershipView;
  readonly membership: MembershipView;
  /** The invitation's teams that are new to the membership. */
  readonly teamIds: readonly string[];
}

function newTeams(invitation: MembershipView, membership: MembershipView): string[] {
  return invitation.teamIds.filter((id) => !membership.teamIds.includes(id));
}

/** Gives the teams of invitations, and whatever names them, to the memberships that are there already, then ends the invitations. */
async function takeOver(tx: Tx, context: Joiner, doubles: readonly Double[]): Promise<void> {
  if (doubles.length === 0) return;
  // A place that has ended would stand in the way of one in the same team.
  await endSeatsOf(
    tx,
    context,
    doubles.map(({ membership }) => membership.id),
  );
  const inherited = doubles.map(({ invitation, membership, teamIds }) => ({
    from: invitation.id,
    to: membership.id,
    teamIds,
  }));
  const userId = doubles[0]?.membership.userId ?? null;
  const invitationIds = inherited.map(({ from }) => from);
  await inheritSeats(tx, userId, inherited);
  if (userId !== null) await context.hooks.organizations.beforeInvitationsMerge(tx, userId, invitationIds);
  await tx.db
    .deleteFrom("organizationMemberships")
    .where(tx.dialect.isOneOf(sql.ref("id"), invitationIds))
    .execute();
}
