/** Creation and execution of access requests for access offers, in their transaction. */
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import { describeEffects } from "../../sharing/access-previews/described-effects.ts";
import type { Context } from "../../shared/context.ts";
import { asStored } from "./changes.ts";
import { newRequestId, requireRequester, storeRequest } from "./creation.ts";
import type { AccessRequestView } from "./definition.ts";
import { executeChanges, failureOfOffer } from "./execution.ts";
import { likelyPermissions, viewOf } from "./rules.ts";
import { describeStored, effectsToStore } from "./stored-effects.ts";
import { tryChanges } from "./trial.ts";

interface RequestFromOffer {
  readonly offerId: string;
  /** With `$user` replaced. */
  readonly changes: readonly ParsedChange[];
  readonly reason: string;
  readonly durationSeconds: number;
  /** Copied to the request: members of these teams can approve it. */
  readonly approverTeamIds: readonly string[];
  /** The offer's last writer. */
  readonly executor: Actor;
}

/** An offer names people by id. */
const requestedBy = (requesterId: string, request: RequestFromOffer) => ({
  ...request,
  requesterId,
  joiningIds: [requesterId],
  namedIds: [],
});

/**
 * A pending request of `context.actor`. `organization` is locked with `removal`, as `loadOrganization` does. Throws `conflict` above 50
 * pending requests. The caller checks that the executor may make the changes.
 */
export async function createRequestFromOffer(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  request: RequestFromOffer,
): Promise<AccessRequestView> {
  const requesterId = await requireRequester(tx, context, organization, "pending");
  const trial = await tryChanges(tx, context, organization, asStored(request.changes), request.durationSeconds);
  const stored = { ...trial, ...requestedBy(requesterId, request), id: newRequestId() };
  const facts = await storeRequest(tx, context, organization, stored);
  const effects = await describeEffects(tx, context, organization, trial.end.comparison, false);
  return viewOf(facts, likelyPermissions(context.actor, facts), effects);
}

/**
 * Executes the changes at once, as the executor, and returns the approved request of `context.actor`. Throws `forbidden` if a rule refuses
 * a change, and `conflict` if the executor can't make one any more; the caller's transaction then ends, so that no request remains.
 */
export async function executeBreakGlass(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  request: RequestFromOffer,
): Promise<AccessRequestView> {
  const requesterId = await requireRequester(tx, context, organization, "break-glass");
  const id = newRequestId();
  const jobsToWake = new Set<string>();
  const { changes, durationSeconds, executor } = request;
  const executed = await executeChanges(tx, context, organization, executor, asStored(changes), {
    requestId: id,
    durationSeconds,
    isBreakGlass: true,
    jobsToWake,
  });
  if (executed.failure !== undefined) throw failureOfOffer(executed.failure);
  const applied = await effectsToStore(tx, organization.id, executed.end.comparison);
  const stored = { ...executed, ...requestedBy(requesterId, request), id, applied };
  const facts = await storeRequest(tx, context, organization, stored);
  tx.afterCommit?.(() => jobsToWake.forEach((job) => context.wake?.(job)));
  const effects = await describeStored(tx, context.actor, organization, applied);
  return viewOf(facts, likelyPermissions(context.actor, facts), effects);
}
