/** Operations on access requests: load → authorize → try or execute the changes → write. */
import type { Tx } from "../../../database/database.ts";
import type { MountedResource } from "../../../jsonapi/define.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import type { AccessChangeRequest, ChangeParser } from "../../sharing/access-previews/changes.ts";
import { describeEffects } from "../../sharing/access-previews/described-effects.ts";
import { callerGains } from "./beneficiaries.ts";
import { durationFaults, faultsBesideAccess, parseStored } from "./changes.ts";
import { newRequestId, requireRequester, storeRequest } from "./creation.ts";
import { approveRequest, denyRequest, withdrawRequest } from "./decisions.ts";
import { accessRequests, type AccessRequestView } from "./definition.ts";
import { type AccessRequestFacts, authorizeRequest, likelyPermissions, permissionsOn, viewOf } from "./rules.ts";
import { findRequest, listRequestRows } from "./store.ts";
import { describeStored } from "./stored-effects.ts";
import { firstDenied, type RequestTrial, tryChanges, tryNewChanges } from "./trial.ts";

export function accessRequestResource(parse: ChangeParser): MountedResource<Context> {
  return implement(accessRequests, {
    async createAccessRequest({ context, params, body: { attributes } }) {
      const view = await createRequest(parse, context, params.organizationName, {
        changes: attributes.changes,
        reason: attributes.reason,
        durationSeconds: attributes.durationSeconds ?? null,
      });
      return { view };
    },

    async listAccessRequests({ context, params, query }) {
      const tx = context.database.reader;
      const organization = await loadOrganization(tx, context, params.organizationName);
      const filter = { status: query.filterStatus, requesterId: query.filterRequester, mine: query.filterMine };
      const { requests, totalCount } = await listRequestRows(tx, context.actor, organization, filter, query.page);
      const views = requests.map((request) => viewOf(request, likelyPermissions(context.actor, request)));
      return { views, totalCount, included: await loadIncluded(tx, context, accessRequests, views, query.include) };
    },

    async showAccessRequest({ context, params, query }) {
      const view = await showRequest(parse, context, params.accessRequestId);
      const { reader } = context.database;
      return { view, included: await loadIncluded(reader, context, accessRequests, [view], query.include) };
    },

    async approveAccessRequest({ context, params, body }) {
      const { comment, "access-version": accessVersion } = body.data.attributes;
      const decision = { comment: comment ?? null, accessVersion };
      const facts = await approveRequest(parse, context, params.accessRequestId, decision);
      return { view: await decidedView(context, facts) };
    },

    async denyAccessRequest({ context, params, body }) {
      const { comment } = body.data.attributes;
      return { view: await decidedView(context, await denyRequest(parse, context, params.accessRequestId, comment)) };
    },

    async withdrawAccessRequest({ context, params }) {
      return { view: await decidedView(context, await withdrawRequest(context, params.accessRequestId)) };
    },
  });
}

interface RequestInput {
  readonly changes: readonly AccessChangeRequest[];
  readonly reason: string;
  readonly durationSeconds: number | null;
}

async function createRequest(
  parse: ChangeParser,
  context: Context,
  organizationName: string,
  { changes: sent, reason, durationSeconds }: RequestInput,
): Promise<AccessRequestView> {
  const changes = parse(sent);
  throwIfInvalid([...faultsBesideAccess(changes), ...(durationSeconds === null ? [] : durationFaults(changes))]);
  const { organization, facts, trial } = await context.database.write(async (tx) => {
    const locked = await loadOrganization(tx, context, organizationName, "removal");
    const requesterId = await requireRequester(tx, context, locked, "pending");
    const tried = await tryNewChanges(tx, context, locked, changes, durationSeconds);
    const stored = await storeRequest(tx, context, locked, {
      ...tried,
      id: newRequestId(),
      requesterId,
      reason,
      durationSeconds,
      changes,
      offerId: null,
      approverTeamIds: [],
    });
    return { organization: locked, facts: stored, trial: tried };
  });
  return pendingView(context, organization, facts, trial);
}

/** A pending request's changes run and are rolled back, as in a preview. */
async function showRequest(parse: ChangeParser, context: Context, id: string): Promise<AccessRequestView> {
  const request = await loadRequest(context.database.reader, context, id);
  if (request.status !== "pending") return decidedView(context, request);
  const { organization, facts, trial } = await context.database.runAndRollBack(async (tx) => {
    const locked = await loadOrganization(tx, context, request.organizationName, "removal");
    const current = await loadRequest(tx, context, id);
    const stored = parseStored(parse, current.changes);
    const tried = await tryChanges(
      tx,
      await withRulePrincipal(tx, context, current),
      locked,
      stored,
      current.durationSeconds,
    );
    return { organization: locked, facts: current, trial: tried };
  });
  return facts.status === "pending" ? pendingView(context, organization, facts, trial) : decidedView(context, facts);
}

/** What an approver team approves is executed as the offer's last writer, who is then the principal of the access rules. */
async function withRulePrincipal(
  tx: Tx,
  context: Context,
  { offerId, isInApproverTeam }: AccessRequestFacts,
): Promise<Context> {
  if (offerId === null || !isInApproverTeam) return context;
  const offer = await context.hooks.accessRequests.findOfferOfRequest(tx, offerId);
  if (offer?.writer === undefined) return context;
  return { ...context, accessRules: { mode: "skip", isApproved: true, isBreakGlass: false, principal: offer.writer } };
}

async function pendingView(
  context: Context,
  organization: OrganizationView,
  facts: AccessRequestFacts,
  trial: RequestTrial,
): Promise<AccessRequestView> {
  const { actor } = context;
  const { reader } = context.database;
  const effects = await describeEffects(reader, context, organization, trial.end.comparison, false);
  const canMakeAll = facts.isInApproverTeam || firstDenied(trial, facts.canMakeAll) === undefined;
  const permissions = permissionsOn(actor, facts, canMakeAll && !callerGains(actor, facts, trial));
  return viewOf({ ...facts, rules: trial.rules }, permissions, effects);
}

async function decidedView(context: Context, facts: AccessRequestFacts): Promise<AccessRequestView> {
  const { storedEffects, organizationId, standing } = facts;
  const permissions = permissionsOn(context.actor, facts, false);
  if (storedEffects === null) return viewOf(facts, permissions);
  const organization = { id: organizationId, standing };
  const effects = await describeStored(context.database.reader, context.actor, organization, storedEffects);
  return viewOf(facts, permissions, effects);
}

async function loadRequest(tx: Tx, context: Context, id: string): Promise<AccessRequestFacts> {
  const request = await findRequest(tx, context.actor, id);
  if (request === undefined) throw notFound("access request");
  return authorizeRequest(request);
}
