/** Reads of access offers for access requests. */
import type { Tx } from "../../../database/database.ts";
import type { OfferOfRequest } from "../../shared/hooks.ts";
import { findOfferFacts, findOfferWriter } from "./store.ts";

export async function findOfferOfRequest(tx: Tx, offerId: string): Promise<OfferOfRequest | undefined> {
  const offer = await findOfferFacts(tx, offerId);
  if (offer === undefined) return undefined;
  const { name, enabled, organizationName } = offer;
  return { name, isEnabled: enabled === 1, writer: await findOfferWriter(tx, offer, organizationName) };
}
