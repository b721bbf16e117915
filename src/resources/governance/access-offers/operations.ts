/** Operations on access offers: load → authorize → decide → write. */
import { credentialTerm } from "../../../access/credentials.ts";
import type { Tx } from "../../../database/database.ts";
import type { BodyOf, MountedResource, Operation } from "../../../jsonapi/define.ts";
import { AppError, type Fault, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { factsOf, type OrganizationView } from "../../identity/organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import type { ChangeParser } from "../../sharing/access-previews/changes.ts";
import { accessVersionOf } from "../../sharing/access-previews/reads.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type ConditionalContext, type Context, implement } from "../../shared/context.ts";
import { checkNameAvailability } from "../../shared/name-availability.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { parseOfferedChanges } from "./changes.ts";
import { accessOffers, type AccessOfferView, offerTeamKinds, type OfferTeamKind } from "./definition.ts";
import {
  authorizeOffer,
  changedOffer,
  changedTeams,
  nameTaken,
  newOffer,
  type OfferChanges,
  type OfferTeamsInput,
  sentTeams,
  teamFaults,
  teamRows,
  teamsOfNewOffer,
  writerOf,
} from "./rules.ts";
import {
  deleteOfferRow,
  insertOffer,
  listOfferRows,
  replaceOfferTeams,
  updateOfferRow,
  visibleTeamsAmong,
} from "./store.ts";
import { loadOffer, loadToWrite, takeOffer } from "./taking.ts";
import { refuseUnlessAllowed, withUserIds } from "./writer.ts";

export function accessOfferResource(parseChanges: ChangeParser): MountedResource<Context> {
  return implement(accessOffers, {
    async listAccessOffers({ context, params, query }) {
      const tx = context.database.reader;
      const organization = await loadOrganization(tx, context, params.organizationName);
      return listOfferRows(tx, context.actor, organization, query.page);
    },

    createAccessOffer: ({ context, params, body }) =>
      context.database.write(async (tx) => ({
        view: await createOffer(tx, context, parseChanges, params.organizationName, body),
      })),

    async showAccessOffer({ context, params }) {
      return {
        view: authorizeOffer(await loadOffer(context.database.reader, context, params.accessOfferId), "can-read"),
      };
    },

    updateAccessOffer: ({ context, params, body }) =>
      context.database.write(async (tx) => ({
        view: await updateOffer(tx, context, parseChanges, params.accessOfferId, body),
      })),

    async deleteAccessOffer({ context, params }) {
      await context.database.write(async (tx) => {
        const { offer } = await loadToWrite(tx, context, params.accessOfferId, (found) =>
          authorizeOffer(found, "can-destroy"),
        );
        context.ifMatch.check(offer);
        await deleteOfferRow(tx, offer);
        await record(tx, context, { before: offer });
      });
    },

    async takeAccessOffer({ context, params, body: { data } }) {
      const { database } = context;
      const view = await database.write((tx) =>
        takeOffer(tx, context, parseChanges, params.accessOfferId, data.attributes),
      );
      // PostgreSQL raises the version at the commit.
      return { view: { ...view, accessVersion: await accessVersionOf(database.reader, view.organizationId) } };
    },
  });
}

async function createOffer(
  tx: Tx,
  context: Context,
  parseChanges: ChangeParser,
  organizationName: string,
  { attributes, relationships }: BodyOf<typeof accessOffers, { readonly body: "create" } & Operation>,
): Promise<AccessOfferView> {
  await loadOrganization(tx, context, organizationName, "removal");
  // Behind the lock: the caller's access may have changed while the statement above waited.
  const organization = authorizeOrganization(await loadOrganization(tx, context, organizationName), "can-create-team");
  refuseShortLived(context);
  const identity = { id: newId("access-offers"), organizationId: organization.id, createdAt: now() };
  const row = newOffer(attributes, { ...identity, ...writerOf(context.actor) });
  const teams = { ...teamsOfNewOffer, ...changedTeams(teamsOfNewOffer, relationships) };
  const { standing } = organization;
  const initially = { organizationId: organization.id, standing, isEligible: false, isApprover: false };
  const { memberships, faults } = await planTeams(tx, context, initially, teams, relationships);
  const { isTaken } = await checkNameAvailability(tx, "accessOffers", organization.id, row.name);
  const otherFaults = [...(isTaken ? [nameTaken()] : []), ...faults];
  const stored = { ...row, changes: await checkChanges(tx, context, parseChanges, organization, row, otherFaults) };
  await insertOffer(tx, organization, stored, teamRows(row, teams));
  const isUser = context.actor.kind === "user";
  const view = { ...stored, ...factsOf(organization), standing, teams, ...memberships, isUser };
  await record(tx, context, { after: view });
  return view;
}

async function updateOffer(
  tx: Tx,
  context: ConditionalContext,
  parseChanges: ChangeParser,
  id: string,
  { attributes, relationships }: BodyOf<typeof accessOffers, { readonly body: "update" } & Operation>,
): Promise<AccessOfferView> {
  const { offer, organization } = await loadToWrite(tx, context, id, (found) => authorizeOffer(found, "can-update"));
  context.ifMatch.check(offer);
  refuseShortLived(context);
  const sent = changesOf<AccessOfferView>(offer, changedOffer(attributes));
  const teams = changedTeams(offer.teams, relationships);
  const kinds = Object.keys(teams) as OfferTeamKind[];
  const writer = writerOf(context.actor);
  const isSameWriter = offer.writerKind === writer.writerKind && offer.writerId === writer.writerId;
  if (sent === undefined && kinds.length === 0 && isSameWriter) return offer;
  const { memberships, faults } = await planTeams(tx, context, offer, teams, relationships);
  const changed = afterUpdate<AccessOfferView>(offer, { ...sent, ...memberships, teams: { ...offer.teams, ...teams } });
  const isTaken =
    changed.nameKey !== offer.nameKey &&
    (await checkNameAvailability(tx, "accessOffers", offer.organizationId, changed.name)).isTaken;
  const nameFaults = isTaken ? [nameTaken()] : [];
  const isOnlyDisabled = sent?.enabled === 0 && Object.keys(sent).length === 1 && kinds.length === 0;
  const written = await checkChanges(tx, context, parseChanges, organization, changed, [
    ...nameFaults,
    ...faults,
  ]).catch((error: unknown) => {
    // An offer with a change of something that was deleted can be disabled, but not otherwise changed.
    if (isOnlyDisabled && error instanceof AppError && error.code !== "forbidden") return undefined;
    throw error;
  });
  const requested = { ...sent, ...(written && { ...writer, changes: written }) };
  await updateOfferRow(tx, offer, requested);
  await replaceOfferTeams(tx, offer, kinds, teamRows(offer, teams));
  const after = { ...changed, ...requested };
  await record(tx, context, { before: offer, after });
  return after;
}

/** Returns the changes to store. Throws `invalid`, `forbidden` or `not-found` for changes that the caller can't make. */
async function checkChanges(
  tx: Tx,
  context: Context,
  parseChanges: ChangeParser,
  organization: OrganizationView,
  { changes, durationSecondsMax }: Pick<AccessOfferView, "changes" | "durationSecondsMax">,
  otherFaults: readonly Fault[],
): Promise<string> {
  const sent = JSON.parse(changes) as OfferChanges;
  const parsed = parseOfferedChanges(parseChanges, sent);
  throwIfInvalid(otherFaults);
  const offered = await withUserIds(tx, organization, sent, parsed);
  await refuseUnlessAllowed(tx, context, organization, parsed, durationSecondsMax);
  return JSON.stringify(offered);
}

/** An offer acts for its last writer without its token, so a token that expires can't write one. Throws `forbidden`. */
function refuseShortLived({ actor }: Context): void {
  credentialTerm(actor, { thing: "or change an access offer", endsAt: null });
}

interface OfferTeamChange {
  readonly memberships: Pick<AccessOfferView, "isEligible" | "isApprover">;
  readonly faults: readonly Fault[];
}

async function planTeams(
  tx: Tx,
  { actor }: Context,
  offer: Pick<AccessOfferView, "organizationId" | "standing" | "isEligible" | "isApprover">,
  teams: Partial<AccessOfferView["teams"]>,
  sent: OfferTeamsInput,
): Promise<OfferTeamChange> {
  const ids = offerTeamKinds.flatMap((kind) => sentTeams(sent, kind) ?? []);
  const found = await visibleTeamsAmong(tx, actor, offer, ids);
  const own = new Set(found.filter(({ includesActor }) => includesActor === 1).map(({ id }) => id));
  const isIn = (kind: OfferTeamKind, before: boolean) =>
    teams[kind] === undefined ? before : teams[kind].visible.some((id) => own.has(id));
  return {
    memberships: { isEligible: isIn("eligible", offer.isEligible), isApprover: isIn("approver", offer.isApprover) },
    faults: teamFaults(teams, sent, new Set(found.map(({ id }) => id))),
  };
}

async function record(
  tx: Tx,
  context: Context,
  { before, after }: { readonly before?: AccessOfferView; readonly after?: AccessOfferView },
): Promise<void> {
  await recordChange(
    tx,
    context,
    accessOffers,
    { ...(before && { before }), ...(after && { after }) },
    { before: before && auditedExtras(before), after: after && auditedExtras(after) },
  );
}

const auditedExtras = ({ writerId, teams: { eligible, approver } }: AccessOfferView) => ({
  "last-writer": writerId,
  "eligible-teams": [...eligible.visible, ...eligible.hidden],
  "approver-teams": [...approver.visible, ...approver.hidden],
});
