/** Takes an offer: a request with a copy of its changes, which break-glass access executes immediately. */
import type { Tx } from "../../../database/database.ts";
import { AppError, attributeFault, conflict, invalid, notFound } from "../../../kernel/errors.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import type { ChangeParser } from "../../sharing/access-previews/changes.ts";
import type { Context } from "../../shared/context.ts";
import type { AccessRequestView } from "../access-requests/definition.ts";
import { asStored } from "../access-requests/changes.ts";
import { failureOfOffer, findRefusedChange, offerWriterMissing } from "../access-requests/execution.ts";
import { asSentence } from "../../../kernel/text.ts";
import { createRequestFromOffer, executeBreakGlass } from "../access-requests/writes.ts";
import { changesFor, parseStoredChanges } from "./changes.ts";
import type { AccessOfferView } from "./definition.ts";
import { authorizeTaking, type OfferChanges } from "./rules.ts";
import { findOffer, findOfferWriter, findTaker } from "./store.ts";

/** Throws `not-found`. */
export async function loadOffer(tx: Tx, { actor }: Context, id: string): Promise<AccessOfferView> {
  const offer = await findOffer(tx, actor, id);
  if (offer === undefined) throw notFound("access offer");
  return offer;
}

/**
 * Locks the organization against all other writes in it, before anything that the changes lock. Authorizes before the lock, so that only
 * callers with access make others wait, and behind it, because their access may have changed meanwhile.
 */
export async function loadToWrite<Offer extends AccessOfferView>(
  tx: Tx,
  context: Context,
  id: string,
  authorize: (offer: AccessOfferView) => Offer,
): Promise<{ readonly offer: Offer; readonly organization: OrganizationView }> {
  const { organizationName } = authorize(await loadOffer(tx, context, id));
  const organization = await loadOrganization(tx, context, organizationName, "removal");
  const offer = authorize(await loadOffer(tx, context, id));
  return { offer, organization: { ...organization, standing: offer.standing } };
}

interface TakeInput {
  readonly reason: string;
  readonly "duration-seconds"?: number | undefined;
}

/** Throws `conflict` if the offer is disabled, or its last writer can no longer make its changes. */
export async function takeOffer(
  tx: Tx,
  context: Context,
  parse: ChangeParser,
  id: string,
  { reason, "duration-seconds": sent }: TakeInput,
): Promise<AccessRequestView> {
  const { offer, organization } = await loadToWrite(tx, context, id, authorizeTaking);
  if (offer.enabled === 0)
    throw conflict(
      "The access offer is disabled. Ask somebody who manages offers to enable it, or request the access.",
    );
  const durationSeconds = sent ?? offer.durationSecondsMax;
  if (durationSeconds > offer.durationSecondsMax) throw invalid([tooLong(offer.durationSecondsMax)]);
  const executor = await findOfferWriter(tx, offer, offer.organizationName);
  if (executor === undefined) throw offerWriterMissing(offer.name);
  const offered = {
    offerId: offer.id,
    changes: await changesForCaller(tx, context, parse, offer),
    reason,
    durationSeconds,
    approverTeamIds: [...offer.teams.approver.visible, ...offer.teams.approver.hidden],
    executor,
  };
  if (offer.approvals === "none") return executeBreakGlass(tx, context, organization, offered);
  const refused = await findRefusedChange(tx, context, executor, asStored(offered.changes), durationSeconds);
  if (refused !== undefined) throw failureOfOffer(refused);
  return createRequestFromOffer(tx, context, organization, offered);
}

const tooLong = (max: number) =>
  attributeFault("duration-seconds", `Duration seconds can be at most ${max}, the longest time that this offer allows`);

async function changesForCaller(tx: Tx, { actor }: Context, parse: ChangeParser, offer: AccessOfferView) {
  const stored = JSON.parse(offer.changes) as OfferChanges;
  const taker = actor.kind === "user" ? await findTaker(tx, offer.organizationId, actor.userId) : undefined;
  if (taker === undefined)
    throw conflict("You are no longer an active member of the organization. Ask an owner to add you again.");
  const changes = parseStoredChanges(parse, changesFor(stored, taker));
  if (changes instanceof AppError)
    throw conflict(
      `A change of this offer is no longer possible: ${asSentence(changes.message)} Ask somebody who manages offers to correct it.`,
    );
  return changes;
}
