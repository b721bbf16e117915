/** Approval, denial and withdrawal of an access request, each in one transaction. */
import type { Actor } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { AccessRequestTable } from "../../../database/schema/access-requests.ts";
import { AppError, conflict, forbidden, notFound } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { ConditionalContext, Context } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import type { ChangeParser } from "../../sharing/access-previews/changes.ts";
import { accessVersionOf } from "../../sharing/access-previews/reads.ts";
import { callerGains } from "./beneficiaries.ts";
import { parseStored } from "./changes.ts";
import { accessRequests, type AccessRequestStatus } from "./definition.ts";
import {
  executeChanges,
  failureOfOffer,
  findRefusedChange,
  offerWriterMissing,
  type RequestExecution,
} from "./execution.ts";
import {
  type AccessRequestFacts,
  authorizeRequest,
  impossibleChangeError,
  notifiedRequest,
  refuseAsDecider,
  refuseDecided,
  beneficiaryError,
  deniedChangeError,
  requesterLeftError,
} from "./rules.ts";
import { findRequest, findRequester, updateRequest } from "./store.ts";
import { effectsToStore } from "./stored-effects.ts";
import { findUnclearMember } from "./members.ts";
import { firstDenied, tryChanges } from "./trial.ts";

type DecidableRequest = AccessRequestFacts & { readonly organization: OrganizationView };

/** Locks the organization against all other writes, then the request. */
async function loadToDecide(tx: Tx, context: ConditionalContext, id: string): Promise<DecidableRequest> {
  const found = await findRequest(tx, context.actor, id);
  if (found === undefined) throw notFound("access request");
  const { organizationName } = authorizeRequest(found);
  const organization = await loadOrganization(tx, context, organizationName, "removal");
  const request = await findRequest(tx, context.actor, id, "change");
  if (request === undefined) throw notFound("access request");
  return { ...authorizeRequest(request), organization };
}

export async function approveRequest(
  parse: ChangeParser,
  context: ConditionalContext,
  id: string,
  { comment, accessVersion }: { readonly comment: string | null; readonly accessVersion: string },
): Promise<AccessRequestFacts> {
  const jobsToWake = new Set<string>();
  const approved = await context.database.write(async (tx) => {
    const request = await loadToDecide(tx, context, id);
    refuseAsDecider(context.actor, request, "approve");
    context.ifMatch.check(request);
    refuseDecided(request);
    const { organization } = request;
    const stored = parseStored(parse, request.changes);
    const offer = await loadOffer(tx, context, request);
    const executor = (request.isInApproverTeam ? offer?.writer : undefined) ?? context.actor;
    // Where the approver makes the changes, the offer's last writer must be allowed to make them too.
    if (offer !== undefined && executor !== offer.writer) {
      const refused = await findRefusedChange(tx, context, offer.writer, stored, request.durationSeconds);
      if (refused?.cause === "denied") throw failureOfOffer(refused);
    }
    const current = await accessVersionOf(tx, organization.id);
    // Before the changes, which can remove the requester.
    const { isActive } = await findRequester(tx, organization.id, request.requesterId);
    const unclear = await findUnclearMember(tx, request, stored);
    const execution = await executeChanges(tx, context, organization, executor, stored, {
      requestId: id,
      durationSeconds: request.durationSeconds,
      isBreakGlass: false,
      jobsToWake,
    });
    refuseApproval(context.actor, executor, request, execution, current === accessVersion);
    if (!isActive) throw requesterLeftError();
    if (unclear !== undefined) throw impossibleChangeError(unclear.position, unclear.reason);
    const effects = await effectsToStore(tx, organization.id, execution.end.comparison);
    const decided = await decide(tx, context, authorizeDecision(request, "can-approve"), "approved", {
      decisionComment: comment,
      effects: JSON.stringify(effects),
      rules: JSON.stringify(execution.rules),
    });
    return { ...decided, storedEffects: effects, rules: execution.rules };
  });
  for (const job of jobsToWake) context.wake?.(job);
  // PostgreSQL raises the version at the commit.
  return { ...approved, accessVersion: await accessVersionOf(context.database.reader, approved.organizationId) };
}

/** Throws `forbidden` before `precondition-failed` before `conflict`. */
function refuseApproval(
  approver: Actor,
  executor: Actor,
  request: AccessRequestFacts,
  execution: RequestExecution,
  isCurrent: boolean,
): void {
  const { failure } = execution;
  if (failure !== undefined && failure.cause !== "impossible") {
    if (failure.cause === "rule") throw forbidden(failure.error.message);
    if (executor !== approver) throw failureOfOffer(failure);
    throw deniedChangeError("approve", failure.position, failure.error.message);
  }
  if (callerGains(approver, request, execution)) throw beneficiaryError("approve");
  if (!isCurrent) throw changedMeanwhile();
  if (failure !== undefined) throw impossibleChangeError(failure.position, failure.error.message);
}

const changedMeanwhile = (): AppError =>
  new AppError(
    "precondition-failed",
    "Access has changed since that access-version, so the effects that you saw may be out of date. Nothing was changed. Read the request again, then approve it with its new access-version.",
  );

/** Undefined for a request without an offer. Throws `conflict` if the offer can't be used any more. */
async function loadOffer(
  tx: Tx,
  { hooks }: Context,
  { offerId }: AccessRequestFacts,
): Promise<{ readonly writer: Actor } | undefined> {
  if (offerId === null) return undefined;
  const offer = await hooks.accessRequests.findOfferOfRequest(tx, offerId);
  if (offer === undefined)
    throw conflict("The access offer of this request was deleted, so the request can't be approved. Deny it.");
  if (!offer.isEnabled)
    throw conflict(
      `The access offer '${offer.name}' is disabled, so its requests can't be approved. Enable it first, or deny the request.`,
    );
  if (offer.writer === undefined) throw offerWriterMissing(offer.name);
  return { writer: offer.writer };
}

export async function denyRequest(
  parse: ChangeParser,
  context: ConditionalContext,
  id: string,
  comment: string,
): Promise<AccessRequestFacts> {
  return context.database.write(async (tx) => {
    const request = await loadToDecide(tx, context, id);
    refuseAsDecider(context.actor, request, "deny");
    context.ifMatch.check(request);
    refuseDecided(request);
    await refuseDenial(tx, context, parse, request);
    return decide(tx, context, authorizeDecision(request, "can-deny"), "denied", { decisionComment: comment });
  });
}

/** Who could not approve can't deny. Throws `forbidden`. */
async function refuseDenial(tx: Tx, context: Context, parse: ChangeParser, request: DecidableRequest): Promise<void> {
  const { organization, durationSeconds, isInApproverTeam, canMakeAll } = request;
  const stored = parseStored(parse, request.changes);
  const trial = await tryChanges(tx, context, organization, stored, durationSeconds);
  const denied = isInApproverTeam ? undefined : firstDenied(trial, canMakeAll);
  if (denied !== undefined) throw deniedChangeError("deny", denied.position, denied.reason);
  if (callerGains(context.actor, request, trial)) throw beneficiaryError("deny");
}

export async function withdrawRequest(context: ConditionalContext, id: string): Promise<AccessRequestFacts> {
  return context.database.write(async (tx) => {
    const request = await loadToDecide(tx, context, id);
    if (!request.isRequester)
      throw forbidden("Only the requester can withdraw an access request. Deny it instead, if you can decide it.");
    context.ifMatch.check(request);
    refuseDecided(request);
    return decide(tx, context, authorizeDecision(request, "can-withdraw"), "withdrawn", {});
  });
}

/** After the checks above. */
const authorizeDecision = <Permission extends "can-approve" | "can-deny" | "can-withdraw">(
  request: DecidableRequest,
  permission: Permission,
): Granted<DecidableRequest, Permission> =>
  authorize(request, { thing: "access request", permission, visible: true, allowed: true, needs: "" });

const verbs = { approved: "approve", denied: "deny", withdrawn: "withdraw" } as const;

async function decide(
  tx: Tx,
  context: Context,
  request: Granted<DecidableRequest, "can-approve" | "can-deny" | "can-withdraw">,
  status: keyof typeof verbs & AccessRequestStatus,
  changes: Partial<AccessRequestTable>,
): Promise<DecidableRequest> {
  const { decisionComment = null } = changes;
  const decidedById = status !== "withdrawn" && context.actor.kind === "user" ? context.actor.userId : null;
  const decision = { status, decidedAt: now(), decidedById, decisionComment };
  await updateRequest(tx, request, { ...changes, ...decision });
  const decided = afterUpdate<DecidableRequest>(request, decision);
  await recordEvent(
    tx,
    { ...context, accessRequestId: request.id },
    {
      organizationId: request.organizationId,
      verb: verbs[status],
      subject: { type: accessRequests.type, id: request.id },
      before: { status: "pending" },
      after: { status, "decision-comment": decisionComment, requester: request.requesterId, offer: request.offerId },
    },
  );
  if (status !== "withdrawn")
    await context.hooks.accessRequests.notifyAccessRequest(tx, context, "decided", notifiedRequest(decided));
  return decided;
}
