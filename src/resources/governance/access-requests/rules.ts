/** Pure checks of access requests: who sees and decides them, and why not. */
import type { Actor } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import { type AppError, conflict, forbidden } from "../../../kernel/errors.ts";
import { asSentence } from "../../../kernel/text.ts";
import type { NotifiedRequest } from "../../shared/hooks.ts";
import type { AccessRequestPermissions, AccessRequestView } from "./definition.ts";
import type { DescribedEffects } from "../../sharing/access-previews/definition.ts";
import type { StoredEffects } from "./stored-effects.ts";

/** A request with what decides about the caller's permissions. */
export interface AccessRequestFacts extends Omit<AccessRequestView, "effects" | "permissions"> {
  readonly storedEffects: StoredEffects | null;
  readonly isRequester: boolean;
  readonly canMakeAll: boolean;
  readonly isBeneficiary: boolean;
  readonly isInApproverTeam: boolean;
}

/** Throws `not-found`. */
export function authorizeRequest(request: AccessRequestFacts): Granted<AccessRequestFacts, "can-read"> {
  const { standing, isRequester, canMakeAll, isInApproverTeam } = request;
  const isVisible = standing.member && (standing.owner || isRequester || canMakeAll || isInApproverTeam);
  return authorize(request, {
    thing: "access request",
    permission: "can-read",
    visible: isVisible,
    allowed: isVisible,
    needs: "the right to decide it",
  });
}

/** `canDecide`: makes all changes or is in an approver team, and is no beneficiary. */
export function permissionsOn(
  actor: Actor,
  { status, isRequester }: AccessRequestFacts,
  canDecide: boolean,
): AccessRequestPermissions {
  const isPending = status === "pending";
  const decides = isPending && actor.kind === "user" && !isRequester && canDecide;
  return { "can-approve": decides, "can-deny": decides, "can-withdraw": isPending && isRequester };
}

/** From the stored requirements, for lists. */
export const likelyPermissions = (actor: Actor, request: AccessRequestFacts): AccessRequestPermissions =>
  permissionsOn(actor, request, (request.canMakeAll || request.isInApproverTeam) && !request.isBeneficiary);

export function viewOf(
  {
    storedEffects: _stored,
    isRequester: _own,
    canMakeAll: _all,
    isBeneficiary: _gains,
    isInApproverTeam: _in,
    ...request
  }: AccessRequestFacts,
  permissions: AccessRequestPermissions,
  effects: DescribedEffects | null = null,
): AccessRequestView {
  return { ...request, permissions, effects };
}

type Decision = "approve" | "deny";

/** Throws `forbidden` for who can't decide any request like this, before anything is tried. */
export function refuseAsDecider(actor: Actor, { isRequester }: AccessRequestFacts, decision: Decision): void {
  if (actor.kind !== "user")
    throw forbidden(
      `Tokens of teams and of organizations can't ${decision} access requests. Use the token or session of a user.`,
    );
  if (isRequester)
    throw forbidden(
      decision === "approve"
        ? "You can't approve your own access request. Ask somebody else who can make its changes."
        : "You can't deny your own access request. Withdraw it instead.",
    );
}

export const beneficiaryError = (decision: Decision): AppError =>
  forbidden(
    `You can't ${decision} this access request, because you or one of your teams would gain access by it. Ask somebody who gains nothing.`,
  );

export const deniedChangeError = (decision: Decision, position: number, reason: string): AppError =>
  forbidden(
    `You can't ${decision} this access request, because you can't make its change ${position + 1} yourself: ${asSentence(reason)}`,
  );

/** Throws `conflict`. */
export function refuseDecided({ status }: Pick<AccessRequestFacts, "status">): void {
  if (status !== "pending")
    throw conflict(
      `The access request ${status === "lapsed" ? "lapsed before anybody decided" : `was already ${status}`}. If the access is still needed, the requester can create a new request.`,
    );
}

export const impossibleChangeError = (position: number, reason: string): AppError =>
  conflict(
    `Change ${position + 1} of the access request is no longer possible: ${asSentence(reason)} Nothing was changed. Deny the request, or approve it once the change is possible.`,
  );

export const requesterLeftError = (): AppError =>
  conflict(
    "The requester is no longer an active member of the organization. Nothing was changed. Deny the request, or add the requester again.",
  );

export const notifiedRequest = (request: NotifiedRequest): NotifiedRequest => {
  const { id, organizationId, organizationName, requesterId, status, reason, durationSeconds } = request;
  const { createdAt, lapsesAt, decidedAt, decidedById, decisionComment, offerId } = request;
  return {
    id,
    organizationId,
    organizationName,
    requesterId,
    status,
    reason,
    durationSeconds,
    createdAt,
    lapsesAt,
    decidedAt,
    decidedById,
    decisionComment,
    offerId,
  };
};
