/** Describes changes of teams and their members to access rules. Pure. */
import { organizationPermissionNames, organizationBit } from "../../../access/organization.ts";
import type { TeamTable } from "../../../database/schema/identity.ts";
import type { RuledChange } from "../../shared/hooks.ts";

interface RuledSeat {
  /** Null for an invited person, whom the rules can't know yet. */
  readonly userId: string | null;
  readonly expiresAt?: string | null;
  readonly reason?: string | null;
}

export function seatChange(
  action: "addMember" | "removeMember",
  teamId: string,
  { userId, expiresAt, reason }: RuledSeat,
): RuledChange {
  const isGiven = action === "addMember";
  return {
    action,
    resource: { type: "teams", id: teamId },
    teamId,
    ...(userId !== null && { userId }),
    permissions: [],
    ...(isGiven && { expiresAt: expiresAt ?? null, reason: reason ?? null }),
  };
}

export function teamUpdateChange(
  { id, organizationAccess }: Pick<TeamTable, "id" | "organizationAccess">,
  before: number,
): RuledChange {
  const given = organizationAccess & ~before;
  return {
    action: "updateTeam",
    resource: { type: "teams", id },
    teamId: id,
    permissions: organizationPermissionNames.filter((name) => (given & organizationBit(name)) !== 0),
  };
}
