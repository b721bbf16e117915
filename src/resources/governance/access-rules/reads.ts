/** Loads enabled rules and evaluates access against them, for other folders. */
import type { Tx } from "../../../database/database.ts";
import { type EnabledRule, referencesOf, type RuledAction } from "./engine.ts";
import { loadFacts, type RuleFacts } from "./facts.ts";
import { enabledRulesOf } from "./store.ts";

export { type EnabledRule, evaluateActions, type RuledAction, type RulePrincipal } from "./engine.ts";

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
