/** Checks the seats of accepted invitations against access rules, which can't know an invited person before. */
import { sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { seatChange } from "../teams/ruled-changes.ts";
import type { MembershipView } from "./definition.ts";

/** As given by those who invited the person, and as approved if an access request did. Throws `forbidden`. */
export async function enforceRulesOnSeats(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId" | "hooks" | "warn">,
  invitations: readonly MembershipView[],
  { id: userId }: Pick<UserTable, "id">,
): Promise<void> {
  const ruled = new Map(
    invitations.flatMap((invitation) => (invitation.enabledRuleCount ? [[invitation.id, invitation]] : [])),
  );
  if (ruled.size === 0) return;
  const seats = await tx.db
    .selectFrom("teamMembers as tm")
    .select(["tm.membershipId", "tm.teamId", "tm.expiresAt", "tm.reason", "tm.grantedById", "tm.accessRequestId"])
    .where(tx.dialect.isOneOf(sql.ref("tm.membershipId"), [...ruled.keys()]))
    .where(inForce("tm"))
    .orderBy("tm.teamId")
    .execute();
  const byOrigin = Map.groupBy(seats, (seat) => `${seat.membershipId} ${seat.grantedById} ${seat.accessRequestId}`);
  for (const given of byOrigin.values()) {
    const { membershipId = "", grantedById = null, accessRequestId = null } = given[0] ?? {};
    const { organizationId = "", enabledRuleCount = 0 } = ruled.get(membershipId) ?? {};
    const principal = actorWithId(grantedById, organizationId);
    await context.hooks.accessRules.enforceRules(
      tx,
      {
        ...context,
        accessRules: { mode: "enforce", principal, isApproved: accessRequestId !== null, isBreakGlass: false },
      },
      { organizationId, enabledRuleCount },
      given.map((seat) => seatChange("addMember", seat.teamId, { ...seat, userId })),
    );
  }
}

function actorWithId(id: string | null, organizationId: string): Actor {
  if (id === null) return { kind: "anonymous" };
  if (looksLikeUserId(id)) return { kind: "user", userId: id, name: "", siteAdmin: false, tokenId: "", tokenAgeMs: 0 };
  return { kind: "team", teamId: id, name: "", organizationId, tokenId: "" };
}
