/**
 * What the token of a run may do: work for its own workspace, and read the state that others share with that. Neither agents nor
 * runs are anybody to operations that do not name them.
 */
import { notFound } from "../kernel/errors.ts";
import { isIdOf } from "../kernel/ids.ts";
import type { Actor } from "./actor.ts";
import { holds, type Mask, maskOf, sharedState } from "./permission-set.ts";

/** Its own workspace: read it, its runs and its state. */
export const ownWorkspace: Mask = maskOf({ runs: "read", stateVersions: "read" });
const writingState: Mask = maskOf({ stateVersions: "write" });

/** The author of a plan decides what it executes, and may not be allowed to apply: only an apply, which was approved, writes state. */
const isApplying = (actor: Actor): boolean => actor.kind === "run" && isIdOf("applies", actor.phaseId);

/** What a caller holds on a workspace by records, or by being a run: an apply also writes the state of its own workspace. */
export function grantedToPhase(actor: Actor, held: Mask | null): Mask | null {
  return held !== null && isApplying(actor) && holds(held, "runs", "read") ? held | writingState : held;
}

/** One that shares its state with it: see it and read its state. Its runs, logs and configurations are not shared. */
export const sharingWorkspace: Mask = sharedState | maskOf({ stateVersions: "read" });

/** The engine asks what an organization can do before it reads a state in it. */
export function mayReadEntitlements(
  actor: Actor,
  organization: { readonly id: string; readonly standing: { readonly member: boolean } },
): boolean {
  return organization.standing.member || (actor.kind === "run" && actor.organizationId === organization.id);
}

/** Who calls an operation beside people, teams and organizations: `agents` alone, or `runs` too. */
export type Callers = "agents" | "runs" | undefined;

/** To whom an operation is not open it is not there. Raises `not-found`. */
export function refuseCaller(actor: Actor, callers: Callers): void {
  const isOpen = actor.kind === "run" ? callers === "runs" : (actor.kind === "agent") === (callers === "agents");
  if (!isOpen) throw notFound("thing");
}
