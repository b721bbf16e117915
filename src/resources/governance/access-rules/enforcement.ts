/** Refuses changes of access that a rule forbids, in the transaction of the change. Connected as the hook `accessRules`. */
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { invalid } from "../../../kernel/errors.ts";
import { asSentence, counted } from "../../../kernel/text.ts";
import type { Context } from "../../shared/context.ts";
import { isRefusal, type RuledChange, type RuledOrganization, type RuleMatch } from "../../shared/hooks.ts";
import { type EnabledRule, evaluateActions, referencesOf, type RuledAction, type RulePrincipal } from "./engine.ts";
import { loadFacts } from "./facts.ts";
import { RefusedByRule } from "./rules.ts";
import { enabledRulesOf } from "./store.ts";

type RuleContext = Pick<Context, "actor" | "accessRules" | "warn">;

/** Throws `forbidden` with one error for each rule that refuses a change. */
export async function enforceRules(
  tx: Tx,
  context: RuleContext,
  organization: RuledOrganization,
  changes: readonly RuledChange[],
): Promise<void> {
  const { accessRules: scope, warn } = context;
  if (scope?.mode === "skip" && scope.onMatch === undefined) return;
  const rules = await rulesFor(tx, organization, changes);
  refuseTooMany(rules, changes);
  const matches = await evaluateRules(tx, context, organization, rules, changes);
  for (const [position, change] of changes.entries())
    for (const match of matches[position] ?? []) scope?.onMatch?.(change, match);
  if (scope?.mode === "skip") return;
  const all = byRule(matches.flat());
  const refusing = all.filter((match) => isRefusal(match, scope?.isApproved ?? false));
  if (refusing.length > 0)
    throw new RefusedByRule(
      "forbidden",
      refusing.map((match) => ({ detail: refusalOf(match) })),
    );
  const advising = all.filter(({ rule }) => rule.enforcement === "advise");
  if (warn !== undefined && advising.length > 0) tx.afterCommit?.(() => advising.forEach(warn));
}

/** The rules that match each change, whatever their enforcement. */
export async function matchRules(
  tx: Tx,
  context: RuleContext,
  organization: RuledOrganization,
  changes: readonly RuledChange[],
): Promise<readonly (readonly RuleMatch[])[]> {
  return evaluateRules(tx, context, organization, await rulesFor(tx, organization, changes), changes);
}

async function rulesFor(
  tx: Tx,
  { organizationId, enabledRuleCount }: RuledOrganization,
  changes: readonly RuledChange[],
): Promise<readonly EnabledRule[]> {
  return enabledRuleCount === 0 || changes.length === 0 ? [] : enabledRulesOf(tx, organizationId);
}

/** In characters of policy text, for all changes together: up to four seconds, in which nobody else can write in the organization. */
const evaluatedTextMax = 2 ** 25;

/** Throws `invalid`. */
function refuseTooMany(rules: readonly EnabledRule[], changes: readonly RuledChange[]): void {
  const length = rules.reduce((sum, { policy }) => sum + policy.length, 0);
  const most = Math.floor(evaluatedTextMax / length);
  if (changes.length > most)
    throw invalid([
      {
        pointer: "/data",
        detail: `With the access rules of this organization, one request can make at most ${counted(most, "change")} of access, and this one makes ${changes.length}. Send several requests`,
      },
    ]);
}

async function evaluateRules(
  tx: Tx,
  context: RuleContext,
  { organizationId }: RuledOrganization,
  rules: readonly EnabledRule[],
  changes: readonly RuledChange[],
): Promise<readonly (readonly RuleMatch[])[]> {
  if (rules.length === 0) return changes.map(() => []);
  const { isApproved = false, isBreakGlass = false, principal = context.actor } = context.accessRules ?? {};
  const by = rulePrincipalOf(principal, organizationId);
  const actions = changes.map((change): RuledAction => ({ change, principal: by, isApproved, isBreakGlass }));
  const facts = await loadFacts(tx, referencesOf(organizationId, actions));
  return evaluateActions(rules, facts, actions);
}

/** The operator and the service itself act for the organization. */
function rulePrincipalOf(actor: Actor, organizationId: string): RulePrincipal {
  if (actor.kind === "user") return { type: "users", id: actor.userId };
  if (actor.kind === "team") return { type: "teams", id: actor.teamId };
  return { type: "organizations", id: organizationId };
}

const byRule = (matches: readonly RuleMatch[]): RuleMatch[] => [
  ...new Map(matches.map((match) => [match.rule.id, match])).values(),
];

function refusalOf({ rule: { name, enforcement }, message }: RuleMatch): string {
  const reason = asSentence(message);
  return enforcement === "approval"
    ? `The access rule '${name}' requires an approved access request for this change: ${reason} Request the change, so that somebody else can approve it, or ask an owner if it can't be requested.`
    : `The access rule '${name}' forbids this change: ${reason}`;
}
