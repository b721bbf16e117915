/** Checks the seats of accepted invitations against access rules, which can't know an invited person before. */
import { sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { AccessRuleScope, Context } from "../../shared/context.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { isRefusal, type RuledOrganization, type RuleMatch } from "../../shared/hooks.ts";
import { seatChange } from "../teams/ruled-changes.ts";
import { deleteInvitedSeats } from "../teams/writes.ts";
import type { MembershipView } from "./definition.ts";

type SeatContext = Pick<Context, "actor" | "requestId" | "hooks" | "warn">;
type AcceptingUser = Pick<UserTable, "id" | "username">;

/** Throws `forbidden`. */
export async function enforceRulesOnSeats(
  tx: Tx,
  context: SeatContext,
  invitations: readonly MembershipView[],
  { id: userId }: AcceptingUser,
): Promise<void> {
  for (const { organization, scope, seats } of await ruledSeatsOf(tx, invitations))
    await context.hooks.accessRules.enforceRules(
      tx,
      { ...context, accessRules: scope },
      organization,
      seats.map((seat) => seatChange("addMember", seat.teamId, { ...seat, userId })),
    );
}

/**
 * Deletes the seats that a rule refuses, with an audit event for each. For invitations that are accepted because of their address: a rule
 * of one organization must not keep the user from getting an account, or from joining another organization.
 */
export async function withoutForbiddenSeats(
  tx: Tx,
  context: SeatContext,
  invitations: readonly MembershipView[],
  { id: userId, username }: AcceptingUser,
): Promise<readonly MembershipView[]> {
  const forbidden: { readonly seat: InvitedSeat; readonly organizationId: string; readonly match: RuleMatch }[] = [];
  for (const { organization, scope, seats } of await ruledSeatsOf(tx, invitations)) {
    const changes = seats.map((seat) => seatChange("addMember", seat.teamId, { ...seat, userId }));
    const matches = await context.hooks.accessRules.matchRules(
      tx,
      { ...context, accessRules: scope },
      organization,
      changes,
    );
    for (const [position, seat] of seats.entries()) {
      const match = matches[position]?.find((one) => isRefusal(one, scope.isApproved));
      if (match !== undefined) forbidden.push({ seat, organizationId: organization.organizationId, match });
    }
  }
  if (forbidden.length === 0) return invitations;
  await deleteInvitedSeats(
    tx,
    forbidden.map(({ seat }) => seat),
  );
  await recordEvents(
    tx,
    context,
    forbidden.map(({ seat, organizationId, match: { rule, message } }) => ({
      organizationId,
      verb: "refuse-member",
      subject: { type: "teams", id: seat.teamId },
      after: { username, membership: seat.membershipId, rule: rule.id, "rule-name": rule.name, message },
    })),
  );
  const isKept = (membershipId: string, teamId: string) =>
    !forbidden.some(({ seat }) => seat.membershipId === membershipId && seat.teamId === teamId);
  return invitations.map((invitation) => ({
    ...invitation,
    teamIds: invitation.teamIds.filter((teamId) => isKept(invitation.id, teamId)),
  }));
}

interface InvitedSeat {
  readonly membershipId: string;
  readonly teamId: string;
  readonly expiresAt: string | null;
  readonly reason: string | null;
}

interface RuledSeats {
  readonly organization: RuledOrganization;
  /** The seats were given by who invited the person, and are approved if an access request gave them. */
  readonly scope: AccessRuleScope;
  readonly seats: readonly InvitedSeat[];
}

async function ruledSeatsOf(tx: Tx, invitations: readonly MembershipView[]): Promise<RuledSeats[]> {
  const ruled = new Map(
    invitations.flatMap((invitation) => (invitation.enabledRuleCount ? [[invitation.id, invitation]] : [])),
  );
  if (ruled.size === 0) return [];
  const seats = await tx.db
    .selectFrom("teamMembers as tm")
    .leftJoin("accessRequests as q", "q.id", "tm.accessRequestId")
    .select(["tm.membershipId", "tm.teamId", "tm.expiresAt", "tm.reason", "tm.grantedById", "tm.accessRequestId"])
    .select("q.decidedById")
    .where(tx.dialect.isOneOf(sql.ref("tm.membershipId"), [...ruled.keys()]))
    .where(inForce("tm"))
    .orderBy("tm.teamId")
    .execute();
  const byOrigin = Map.groupBy(seats, (seat) => `${seat.membershipId} ${seat.grantedById} ${seat.accessRequestId}`);
  return [...byOrigin.values()].map((given) => {
    const { membershipId = "", grantedById = null, accessRequestId = null, decidedById = null } = given[0] ?? {};
    const { organizationId = "", enabledRuleCount = 0 } = ruled.get(membershipId) ?? {};
    const isRequested = accessRequestId !== null;
    return {
      organization: { organizationId, enabledRuleCount },
      scope: {
        mode: "enforce",
        principal: actorWithId(grantedById, organizationId),
        isApproved: isRequested && decidedById !== null,
        // Nobody decided.
        isBreakGlass: isRequested && decidedById === null,
      },
      seats: given,
    };
  });
}

function actorWithId(id: string | null, organizationId: string): Actor {
  if (id === null) return { kind: "anonymous" };
  if (looksLikeUserId(id)) return { kind: "user", userId: id, name: "", siteAdmin: false, tokenId: "", tokenAgeMs: 0 };
  return { kind: "team", teamId: id, name: "", organizationId, tokenId: "" };
}
