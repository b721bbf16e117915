/** Decides what a run's token can do. Operations refuse agents and runs unless their definition lists them as callers. */
import { notFound } from "../kernel/errors.ts";
import { isIdOf } from "../kernel/ids.ts";
import type { Actor } from "./actor.ts";
import { hasPermission, type Mask, maskOf, sharedStateBit } from "./permission-set.ts";

export const ownWorkspaceMask: Mask = maskOf({ runs: "read", stateVersions: "read" });
const writeStateMask: Mask = maskOf({ stateVersions: "write" });

/** A plan runs code that nobody has approved, so only the token of an apply can write state. */
const isApplying = (actor: Actor): boolean => actor.kind === "run" && isIdOf("applies", actor.phaseId);

export function withPhaseGrants(actor: Actor, granted: Mask | null): Mask | null {
  return granted !== null && isApplying(actor) && hasPermission(granted, "runs", "read")
    ? granted | writeStateMask
    : granted;
}

/** Must not include runs, logs or configurations. */
export const sharedStateMask: Mask = sharedStateBit | maskOf({ stateVersions: "read" });

/** The CLI reads an organization's entitlements before it reads a state in it. */
export function canReadEntitlements(
  actor: Actor,
  organization: { readonly id: string; readonly standing: { readonly member: boolean } },
): boolean {
  return organization.standing.member || (actor.kind === "run" && actor.organizationId === organization.id);
}

/** `agents`: agents and nobody else. */
export type MachineCallers = "agents" | "also-agents" | "runs" | undefined;

function isAllowedCaller({ kind }: Actor, callers: MachineCallers): boolean {
  if (kind === "run") return callers === "runs";
  if (kind === "agent") return callers === "agents" || callers === "also-agents";
  return callers !== "agents";
}

/** Throws `not-found`. */
export function requireAllowedCaller(actor: Actor, callers: MachineCallers): void {
  if (!isAllowedCaller(actor, callers)) throw notFound("resource");
}
