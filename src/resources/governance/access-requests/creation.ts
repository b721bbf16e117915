/** Stores new access requests, with what decides who sees and decides them. */
import type { Tx } from "../../../database/database.ts";
import type { AccessRequestTable } from "../../../database/schema/access-requests.ts";
import { conflict, forbidden } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { counted } from "../../../kernel/text.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { authorizeOrganization } from "../../identity/organizations/reads.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { RuleMatch } from "../../shared/hooks.ts";
import type { AccessChangeRequest, ParsedChange } from "../../sharing/access-previews/changes.ts";
import type { EvaluationEnd, EvaluationStart } from "../../sharing/access-previews/evaluation.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { beneficiariesOf } from "./beneficiaries.ts";
import { kindOf } from "./changes.ts";
import { accessRequests, breakGlassMax, pendingMax } from "./definition.ts";
import { requirementsOf } from "./requirements.ts";
import { type AccessRequestFacts, notifiedRequest, viewOf, likelyPermissions } from "./rules.ts";
import { findRequest, findRequester, insertRequest } from "./store.ts";
import type { StoredEffects } from "./stored-effects.ts";
import type { RequestedMembers } from "./trial.ts";

/**
 * The caller's id. Throws `forbidden` if the caller is not a user who is an active member, and `conflict` above the limit of pending
 * requests or of break-glass access.
 */
export async function requireRequester(
  tx: Tx,
  { actor }: Context,
  { id }: OrganizationView,
  kind: "pending" | "break-glass",
): Promise<string> {
  if (actor.kind !== "user")
    throw forbidden(
      "Only users can request access. Use the token or session of a user, not of a team or organization.",
    );
  const { isActive, pendingCount, breakGlassCount } = await findRequester(tx, id, actor.userId);
  if (!isActive)
    throw forbidden("Only active members of the organization can request access. Ask an owner to add you.");
  if (kind === "pending" && pendingCount >= pendingMax)
    throw conflict(
      `You have ${pendingCount} pending access requests in this organization, which is the limit. Withdraw one, or wait for a decision.`,
    );
  if (kind === "break-glass" && breakGlassCount >= breakGlassMax)
    throw conflict(
      `You have taken break-glass access ${counted(breakGlassCount, "time")} in the last hour, which is the limit, because all owners are notified each time. Wait, or request the access.`,
    );
  return actor.userId;
}

interface NewRequest extends RequestedMembers {
  readonly id: string;
  readonly requesterId: string;
  readonly reason: string;
  readonly durationSeconds: number | null;
  readonly changes: readonly ParsedChange[];
  readonly offerId: string | null;
  readonly approverTeamIds: readonly string[];
  readonly start: EvaluationStart;
  readonly end: EvaluationEnd;
  /** Whether all changes were made between `start` and `end`. If not, they show only some of those who would gain. */
  readonly isComplete: boolean;
  readonly rules: readonly RuleMatch[];
  /** Of break-glass access, which is approved when it is stored. */
  readonly applied?: StoredEffects;
}

export const newRequestId = (): string => newId("access-requests");

/** A workspace is stored by its id, because another one can have its name when the request is approved. */
function stored({ method, path, body, moves }: ParsedChange, { referenced }: EvaluationStart): AccessChangeRequest {
  const named = referenced.find(
    ({ type, name }) => type === "workspaces" && moves?.name !== undefined && name === moves.name,
  );
  return {
    method,
    path: named === undefined ? path : `/api/v2/workspaces/${named.id}`,
    ...(body !== undefined && { body }),
  };
}

export async function storeRequest(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  request: NewRequest,
): Promise<AccessRequestFacts> {
  const { id, changes, applied, requesterId, offerId } = request;
  const createdAt = now();
  const row: AccessRequestTable = {
    id,
    organizationId: organization.id,
    requesterId,
    offerId,
    status: applied === undefined ? "pending" : "approved",
    reason: request.reason,
    changes: JSON.stringify(changes.map((change) => stored(change, request.start))),
    durationSeconds: request.durationSeconds,
    lapsesAt: new Date(nowMs() + organization.accessRequestLapseSeconds * 1000).toISOString(),
    decidedAt: applied === undefined ? null : createdAt,
    decidedById: null,
    decisionComment: null,
    effects: applied === undefined ? null : JSON.stringify(applied),
    rules: JSON.stringify(request.rules),
    createdAt,
    version: 1,
  };
  await insertRequest(tx, authorizeOrganization(organization, "can-traverse"), row, requirementsOf(changes, request), {
    ...likelyBeneficiaries(request),
    approverTeamIds: [...new Set(request.approverTeamIds)],
    namedUserIds: [...new Set(request.namedIds)],
  });
  const facts = await findRequest(tx, context.actor, id);
  if (facts === undefined) throw new Error(`The access request ${id} was not stored.`);
  await recordCreation(tx, { ...context, accessRequestId: id }, facts);
  await context.hooks.accessRequests.notifyAccessRequest(
    tx,
    context,
    applied === undefined ? "created" : "break-glass",
    notifiedRequest(facts),
  );
  return facts;
}

function likelyBeneficiaries({ changes, joiningIds, start, end, isComplete }: NewRequest) {
  const { teamIds, userIds } = beneficiariesOf(start, end);
  const named = isComplete ? [] : joiningIds;
  const granted = isComplete ? [] : changes.filter(isNewGrant).map(({ references: [team] }) => team?.id ?? "");
  return {
    beneficiaryTeamIds: [...new Set([...teamIds, ...granted])],
    beneficiaryUserIds: [...new Set([...userIds, ...named])],
  };
}

const isNewGrant = (change: ParsedChange): boolean =>
  ["POST /team-projects", "POST /team-workspaces"].includes(kindOf(change));

async function recordCreation(tx: Tx, context: Context, facts: AccessRequestFacts): Promise<void> {
  const view = viewOf(facts, likelyPermissions(context.actor, facts));
  const parties = { requester: facts.requesterId, offer: facts.offerId };
  if (facts.status === "pending") {
    await recordChange(tx, context, accessRequests, { after: view }, { after: parties });
    return;
  }
  await recordEvent(tx, context, {
    organizationId: facts.organizationId,
    verb: "break-glass",
    subject: { type: accessRequests.type, id: facts.id },
    after: { ...auditedAttributes(accessRequests, view), ...parties },
  });
}
