/** Leaves out the teams that an access rule keeps a user from joining by groups, with an audit event for each. */
import type { Tx } from "../../../database/database.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { RuleMatch } from "../../shared/hooks.ts";
import { groupReason, type GroupSyncPlan, type GroupTeam } from "../teams/group-sync.ts";
import { seatChange } from "../teams/ruled-changes.ts";
import type { SsoGroupMember } from "../teams/writes.ts";

/** The user didn't ask for these seats, so the organization is the rules' principal, as for access of unknown origin. */
const byOrganization = { kind: "anonymous" } as const;

export async function withoutForbiddenTeams(
  tx: Tx,
  context: Context,
  person: SsoGroupMember,
  plan: GroupSyncPlan,
): Promise<GroupSyncPlan> {
  const forbidden: { readonly team: GroupTeam; readonly match: RuleMatch }[] = [];
  for (const [organizationId, teams] of Map.groupBy(plan.joining, (team) => team.organizationId)) {
    const organization = { organizationId, enabledRuleCount: teams[0]?.enabledRuleCount ?? 0 };
    const seats = teams.map(({ teamId, ssoTeamId }) =>
      seatChange("addMember", teamId, {
        userId: person.userId,
        reason: groupReason(ssoTeamId ?? "", person.providerName),
      }),
    );
    const matches = await context.hooks.accessRules.matchRules(tx, { actor: byOrganization }, organization, seats);
    for (const [position, team] of teams.entries()) {
      const match = matches[position]?.find(({ rule }) => rule.enforcement !== "advise");
      if (match !== undefined) forbidden.push({ team, match });
    }
  }
  if (forbidden.length === 0) return plan;
  await recordEvents(
    tx,
    context,
    forbidden.map(({ team, match: { rule, message } }) => ({
      organizationId: team.organizationId,
      verb: "refuse-member",
      subject: { type: "teams", id: team.teamId },
      after: { username: person.username, group: team.ssoTeamId, rule: rule.id, "rule-name": rule.name, message },
    })),
  );
  const refused = new Set(forbidden.map(({ team }) => team.teamId));
  return { ...plan, joining: plan.joining.filter(({ teamId }) => !refused.has(teamId)) };
}
