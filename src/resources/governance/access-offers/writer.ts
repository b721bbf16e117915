/** The last writer of an offer: whether it is allowed to make the offer's changes, and who it is. */
import type { Tx } from "../../../database/database.ts";
import { forbidden, notFound } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { atChange, isDenial } from "../../sharing/access-previews/apply-changes.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import { loadReferences } from "../../sharing/access-previews/evaluation.ts";
import type { Context } from "../../shared/context.ts";
import type { OfferOfRequest } from "../../shared/hooks.ts";
import { asStored, membersOf } from "../access-requests/changes.ts";
import { findRefusedChange } from "../access-requests/execution.ts";
import { loadNamedMembers } from "../access-requests/members.ts";
import { anyTaker } from "./changes.ts";
import type { OfferChanges } from "./rules.ts";
import { findOfferFacts, findOfferWriter } from "./store.ts";

/**
 * Replaces usernames by ids, because a username can pass to another account before somebody takes the offer. Throws `not-found` for a user
 * who is not a member.
 */
export async function withUserIds(
  tx: Tx,
  { id }: Pick<OrganizationView, "id">,
  sent: OfferChanges,
  parsed: readonly ParsedChange[],
): Promise<OfferChanges> {
  const members = await loadNamedMembers(tx, id, parsed, [anyTaker.userId, anyTaker.membershipId]);
  const ids = new Map(
    members.flatMap(({ usernameKey, userId }) => (usernameKey === null ? [] : [[usernameKey, userId]])),
  );
  return sent.map((change, position) => {
    const named = membersOf(parsed[position] as ParsedChange);
    if (named?.by !== "users") return change;
    const { data } = change.body as { readonly data: readonly { readonly id: string }[] };
    return {
      ...change,
      body: { ...(change.body as object), data: data.map((one) => ({ ...one, id: ids.get(fold(one.id)) ?? one.id })) },
    };
  });
}

/** As if somebody took the offer now. Throws `forbidden`, or `not-found` for a change of something that the caller can't see, or of another organization. */
export async function refuseUnlessAllowed(
  tx: Tx,
  context: Context,
  organization: Pick<OrganizationView, "id" | "name">,
  changes: readonly ParsedChange[],
  seconds: number,
): Promise<void> {
  await refuseOtherOrganizations(tx, organization, changes);
  const refused = await findRefusedChange(tx, context, context.actor, asStored(changes), seconds);
  if (refused === undefined) return;
  const { error, position } = refused;
  throw atChange(isDenial(error) ? forbidden(error.message) : error, position);
}

/** Site admins could make a change of another organization. */
async function refuseOtherOrganizations(
  tx: Tx,
  organization: Pick<OrganizationView, "id" | "name">,
  changes: readonly ParsedChange[],
): Promise<void> {
  const { missing } = await loadReferences(tx, organization, changes);
  const [position] = missing;
  if (position !== undefined) throw atChange(notFound("team, project or workspace"), position);
}

/** For access requests. */
export async function findOfferOfRequest(tx: Tx, offerId: string): Promise<OfferOfRequest | undefined> {
  const offer = await findOfferFacts(tx, offerId);
  if (offer === undefined) return undefined;
  const { name, enabled, organizationName } = offer;
  return { name, isEnabled: enabled === 1, writer: await findOfferWriter(tx, offer, organizationName) };
}
