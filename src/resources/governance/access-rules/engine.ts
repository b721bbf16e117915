/** Evaluates changes of access with Cedar. Pure, except that parsed policies are cached. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type {
  CedarValueJson,
  DetailedError,
  EntityJson,
  EntityUidJson,
  TypeAndId,
} from "@cedar-policy/cedar-wasm/nodejs";
import type { AccessRuleTable } from "../../../database/schema/governance.ts";
import { now } from "../../../kernel/time.ts";
import type { RuledChange, RuleMatch } from "../../shared/hooks.ts";
import { failedRules } from "../../shared/process-events.ts";
import { callCedar, CedarFailure, CedarTrap, engineGeneration } from "./cedar.ts";
import type { FactReferences, RuleFacts } from "./facts.ts";

const sliceMs = 5;
/** In characters of policy text: Cedar parses them in up to 15 milliseconds. */
const groupLengthMax = 16_384;

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

export function referencesOf(organizationId: string, actions: readonly RuledAction[]): FactReferences {
  const named = actions.flatMap(({ change: { resource, teamId, userId }, principal }) => [
    resource,
    principal,
    ...(teamId === undefined ? [] : [{ type: "teams", id: teamId }]),
    ...(userId === undefined ? [] : [{ type: "users", id: userId }]),
  ]);
  const ids = (type: string) => [...new Set(named.flatMap((one) => (one.type === type ? [one.id] : [])))];
  return {
    organizationId,
    userIds: ids("users"),
    teamIds: ids("teams"),
    projectIds: ids("projects"),
    workspaceIds: ids("workspaces"),
  };
}

/**
 * The rules that match each action, in the order of the rules. An action with 50 rules takes half a millisecond, but up to a hundred with
 * the largest policies, and other requests are served meanwhile.
 */
export async function evaluateActions(
  rules: readonly EnabledRule[],
  facts: RuleFacts,
  actions: readonly RuledAction[],
): Promise<readonly (readonly RuleMatch[])[]> {
  const always = rules.filter((rule) => trapped.has(rule)).map(({ id }) => id);
  const groups = groupsOf(rules.filter((rule) => !trapped.has(rule)));
  const results: RuleMatch[][] = [];
  let sliceStart = performance.now();
  for (const action of actions) {
    const request = requestOf(facts, action);
    const matching = new Set(always);
    for (const group of groups) {
      if (performance.now() - sliceStart > sliceMs) {
        await nextTurn();
        sliceStart = performance.now();
      }
      for (const id of matchingRules(group, request)) matching.add(id);
    }
    results.push(rules.filter(({ id }) => matching.has(id)).map(matchOf));
  }
  return results;
}

/** Rules that are parsed and evaluated in one call: ordinary ones all together. */
function groupsOf(rules: readonly EnabledRule[]): EnabledRule[][] {
  const groups: EnabledRule[][] = [];
  let length = Infinity;
  for (const rule of rules) {
    length += rule.policy.length;
    if (length <= groupLengthMax) groups.at(-1)?.push(rule);
    else {
      groups.push([rule]);
      length = rule.policy.length;
    }
  }
  return groups;
}

const matchOf = ({ id, name, enforcement, message }: EnabledRule): RuleMatch => ({
  rule: { id, name, enforcement },
  message: message ?? name,
});

interface CedarRequest {
  readonly principal: TypeAndId;
  readonly action: TypeAndId;
  readonly resource: TypeAndId;
  readonly context: Record<string, CedarValueJson>;
  readonly entities: EntityJson[];
}

const cedarTypes = {
  users: "User",
  teams: "Team",
  organizations: "Organization",
  projects: "Project",
  workspaces: "Workspace",
};

function requestOf(facts: RuleFacts, { change, principal, isApproved, isBreakGlass }: RuledAction): CedarRequest {
  const entities = new Map<string, EntityJson>();
  const uidOf = (type: keyof typeof cedarTypes, id: string): TypeAndId => {
    const fact = facts.get(id);
    if (fact === undefined) return { type: cedarTypes[type], id };
    entities.set(id, fact);
    for (const parent of fact.parents) addParent(facts, entities, parent);
    return plainUid(fact.uid);
  };
  const { action, resource, teamId, userId, access, permissions, expiresAt, reason } = change;
  const context = {
    ...(teamId !== undefined && { team: { __entity: uidOf("teams", teamId) } }),
    ...(userId !== undefined && { user: { __entity: uidOf("users", userId) } }),
    ...(access !== undefined && { access }),
    permissions: [...permissions],
    ...(expiresAt !== undefined && expiresAt !== null && { expiresInSeconds: secondsUntil(expiresAt) }),
    ...(reason !== undefined && reason !== null && { reason }),
    approved: isApproved,
    breakGlass: isBreakGlass,
  };
  return {
    principal: uidOf(principal.type, principal.id),
    action: { type: "Action", id: action },
    resource: uidOf(resource.type, resource.id),
    context,
    entities: [...entities.values()],
  };
}

function addParent(facts: RuleFacts, entities: Map<string, EntityJson>, uid: EntityUidJson): void {
  const { id } = plainUid(uid);
  const parent = facts.get(id);
  if (parent === undefined || entities.has(id)) return;
  entities.set(id, parent);
  for (const next of parent.parents) addParent(facts, entities, next);
}

const plainUid = (uid: EntityUidJson): TypeAndId => ("__entity" in uid ? uid.__entity : uid);

/** Rounded up, so that access for a week is not shorter because the request took some milliseconds. */
const secondsUntil = (expiresAt: string): number => Math.ceil((Date.parse(expiresAt) - Date.parse(now())) / 1000);

/** A policy that the engine can't parse or evaluate counts as matching: Cedar would skip it. */
function matchingRules(rules: readonly EnabledRule[], request: CedarRequest): ReadonlySet<string> {
  try {
    return evaluateTogether(rules, request);
  } catch (error) {
    if (!(error instanceof CedarFailure)) throw error;
    const [first] = rules;
    if (rules.length > 1 || first === undefined)
      return new Set(rules.flatMap((rule) => [...matchingRules([rule], request)]));
    publishOnce(first, error);
    if (error instanceof CedarTrap) trapped.add(first);
    return new Set([first.id]);
  }
}

function publishOnce({ id, version, name }: EnabledRule, { message }: CedarFailure): void {
  const key = `${id}.${version} ${message}`;
  if (published.has(key)) return;
  if (published.size >= rememberedMax) published.clear();
  published.add(key);
  failedRules.publish({ rule: id, name, error: message });
}

function evaluateTogether(rules: readonly EnabledRule[], request: CedarRequest): ReadonlySet<string> {
  const preparsedPolicySetId = policySets.slotOf(rules);
  const answer = callCedar((cedar) => cedar.statefulIsAuthorized({ ...request, preparsedPolicySetId }));
  if (answer.type === "failure") throw failureOf("Cedar refuses the request", answer.errors);
  const { reason, errors } = answer.response.diagnostics;
  return new Set([...reason, ...errors.map(({ policyId }) => policyId)]);
}

const failureOf = (sentence: string, errors: readonly DetailedError[]): CedarFailure =>
  new CedarFailure(`${sentence}: ${errors.map(({ message }) => message).join("; ")}`);

/** The engine caches a parsed policy set by name for ever, so names are reused: one for each set of rules that was used lately. */
class PolicySetCache {
  readonly #slots = new Map<string, { readonly name: string; readonly length: number }>();
  readonly #free: string[] = [];
  readonly #lengthMax: number;
  #length = 0;
  #count = 0;
  #generation = 0;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  slotOf(rules: readonly EnabledRule[]): string {
    this.#forgetIfReplaced();
    const key = rules.map(({ id, version }) => `${id}.${version}`).join(" ");
    const known = this.#slots.get(key);
    if (known !== undefined) {
      // The least recently used comes first.
      this.#slots.delete(key);
      this.#slots.set(key, known);
      return known.name;
    }
    const length = rules.reduce((sum, { policy }) => sum + policy.length, 0);
    while (this.#slots.size > 0 && this.#length + length > this.#lengthMax) this.#evictOldest();
    const name = this.#free.at(-1) ?? `${this.#count + 1}`;
    parseInto(name, Object.fromEntries(rules.map(({ id, policy }) => [id, policy])));
    if (this.#free.pop() === undefined) this.#count += 1;
    this.#generation = engineGeneration();
    this.#slots.set(key, { name, length });
    this.#length += length;
    return name;
  }

  #forgetIfReplaced(): void {
    if (this.#generation === engineGeneration()) return;
    this.#slots.clear();
    this.#free.length = 0;
    [this.#length, this.#count] = [0, 0];
  }

  #evictOldest(): void {
    const [oldest] = this.#slots;
    if (oldest === undefined) return;
    const [key, { name, length }] = oldest;
    this.#slots.delete(key);
    this.#length -= length;
    parseInto(name, {});
    this.#free.push(name);
  }
}

/** Valid when they were written, so a failure means that a newer engine reads less than an older one. */
function parseInto(name: string, staticPolicies: Record<string, string>): void {
  const answer = callCedar((cedar) => cedar.preparsePolicySet(name, { staticPolicies }));
  if (answer.type === "failure") throw failureOf("Cedar can't parse the stored policy", answer.errors);
}

/** Versions of rules whose evaluation trapped. A trap takes a tenth of a second, so they match without another. */
class TrappedRules {
  readonly #keys = new Set<string>();

  has({ id, version }: EnabledRule): boolean {
    return this.#keys.has(`${id}.${version}`);
  }

  add({ id, version }: EnabledRule): void {
    if (this.#keys.size >= rememberedMax) this.#keys.clear();
    this.#keys.add(`${id}.${version}`);
  }
}

const trapped = new TrappedRules();
const published = new Set<string>();
const rememberedMax = 1000;
/** In characters of policy text; a parsed policy needs about twenty times its length. */
const policySets = new PolicySetCache(2_000_000);
