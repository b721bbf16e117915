/** Loads enabled rules and evaluates access against them, for other folders. */
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import type { RuleMatch } from "../../shared/hooks.ts";
import type { AccessRuleView } from "./definition.ts";
import { evaluateAction, type EnabledRule, referencesOf, type RuledAction } from "./engine.ts";
import { loadFacts, type RuleFacts } from "./facts.ts";
import { enabledRulesOf, findAccessRules } from "./store.ts";

/** One statement. */
export async function loadEnabledRules(tx: Tx, organizationId: string): Promise<readonly EnabledRule[]> {
  return enabledRulesOf(tx, organizationId);
}

/** One statement for all actions, however many. */
export async function loadRuleFacts(
  tx: Tx,
  organizationId: string,
  actions: readonly RuledAction[],
): Promise<RuleFacts> {
  return loadFacts(tx, referencesOf(organizationId, actions));
}

/** The rules that match each action, in the order of the rules. An action with 50 rules takes half a millisecond: yield between batches. */
export const evaluateActions = (
  rules: readonly EnabledRule[],
  facts: RuleFacts,
  actions: readonly RuledAction[],
): readonly (readonly RuleMatch[])[] => actions.map((action) => evaluateAction(rules, facts, action));

export async function readableAccessRules(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  ids: readonly string[],
): Promise<AccessRuleView[]> {
  const found = await findAccessRules(tx, actor, ids);
  return found.filter((rule) => organizationPermissions(rule.standing)["can-update"]);
}
