/** Pure checks of access offers, and their rows. */
import { type Actor, actorId } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissionNeeds } from "../../../access/permissions/organization.ts";
import type { AccessOfferTable, AccessOfferTeamTable } from "../../../database/schema/offers.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { camel, human } from "../../../kernel/names.ts";
import { quoted } from "../../../kernel/text.ts";
import {
  accessOffers,
  type AccessOfferView,
  approverTeamsMax,
  eligibleTeamsMax,
  managesOffers,
  offerTeamKinds,
  type OfferTeamIds,
  type OfferTeamKind,
} from "./definition.ts";

const needs = organizationPermissionNeeds["can-create-team"] ?? "to manage teams";

/** Throws `forbidden`, or `not-found` for callers who neither manage offers nor belong to one of its teams. */
export function authorizeOffer<Permission extends "can-read" | "can-update" | "can-destroy">(
  offer: AccessOfferView,
  permission: Permission,
): Granted<AccessOfferView, Permission> {
  const isManager = managesOffers(offer);
  const visible = offer.standing.member && (isManager || offer.isEligible || offer.isApprover);
  return authorize(offer, {
    thing: "access offer",
    permission,
    visible,
    allowed: permission === "can-read" ? visible : isManager,
    needs,
  });
}

/** Callers who see an eligible team can know that the offer exists. Throws `forbidden` or `not-found`. */
export function authorizeTaking(offer: AccessOfferView): Granted<AccessOfferView, "can-take"> {
  const isKnown =
    offer.isEligible || offer.isApprover || managesOffers(offer) || offer.teams.eligible.visible.length > 0;
  return authorize(offer, {
    thing: "access offer",
    permission: "can-take",
    visible: offer.standing.member && isKnown,
    allowed: offer.isEligible && offer.isUser,
    needs: "a user who is a member of an eligible team, with a token of their own",
  });
}

export type OfferChanges = readonly { readonly method: string; readonly path: string; readonly body?: unknown }[];

export const writerOf = (actor: Actor): Pick<AccessOfferTable, "writerKind" | "writerId"> => ({
  writerKind: actor.kind,
  writerId: actorId(actor),
});

export function newOffer(
  attributes: CreateAttributes<typeof accessOffers>,
  identity: Pick<AccessOfferTable, "id" | "organizationId" | "createdAt" | "writerKind" | "writerId">,
): AccessOfferTable {
  return {
    ...createdColumns(accessOffers, attributes),
    ...identity,
    changes: JSON.stringify(attributes.changes),
    version: 1,
  };
}

export function changedOffer(attributes: UpdateAttributes<typeof accessOffers>): Partial<AccessOfferTable> {
  const { changes } = attributes;
  return {
    ...changedColumns(accessOffers, attributes),
    ...(changes !== undefined && { changes: JSON.stringify(changes) }),
  };
}

export type OfferTeamsInput = { readonly [Name in "eligibleTeams" | "approverTeams"]?: readonly string[] };

const relationshipOf = (kind: OfferTeamKind) => `${kind}-teams` as const;

export const sentTeams = (sent: OfferTeamsInput, kind: OfferTeamKind): readonly string[] | undefined =>
  sent[camel(relationshipOf(kind)) as keyof OfferTeamsInput];

const noTeams: OfferTeamIds = { visible: [], hidden: [] };
export const teamsOfNewOffer: AccessOfferView["teams"] = { eligible: noTeams, approver: noTeams };

/** Teams that the caller can't see stay. */
export function changedTeams(
  before: AccessOfferView["teams"],
  sent: OfferTeamsInput,
): Partial<Record<OfferTeamKind, OfferTeamIds>> {
  const changed: Partial<Record<OfferTeamKind, OfferTeamIds>> = {};
  for (const kind of offerTeamKinds) {
    const ids = sentTeams(sent, kind);
    if (ids === undefined) continue;
    const visible = [...new Set(ids)].sort();
    if (visible.join() !== before[kind].visible.join()) changed[kind] = { ...before[kind], visible };
  }
  return changed;
}

export const teamRows = (
  offer: Pick<AccessOfferTable, "id" | "organizationId">,
  teams: Partial<Record<OfferTeamKind, OfferTeamIds>>,
): AccessOfferTeamTable[] =>
  offerTeamKinds.flatMap((kind) =>
    [...(teams[kind]?.visible ?? []), ...(teams[kind]?.hidden ?? [])].map((teamId) => ({
      organizationId: offer.organizationId,
      accessOfferId: offer.id,
      kind,
      teamId,
    })),
  );

export function teamFaults(
  teams: Partial<Record<OfferTeamKind, OfferTeamIds>>,
  sent: OfferTeamsInput,
  known: ReadonlySet<string>,
): Fault[] {
  const counts = { eligible: { min: 1, max: eligibleTeamsMax }, approver: { min: 0, max: approverTeamsMax } };
  return offerTeamKinds.flatMap((kind): Fault[] => {
    const name = relationshipOf(kind);
    const unknown = (sentTeams(sent, kind) ?? []).flatMap((id, position) =>
      known.has(id)
        ? []
        : [
            {
              pointer: `/data/relationships/${name}/data/${position}/id`,
              detail: `${human(name)} names ${quoted(id)}, which is not a team of this organization that you can see`,
            },
          ],
    );
    const changed = teams[kind];
    if (changed === undefined) return unknown;
    const count = changed.visible.length + changed.hidden.length;
    const { min, max } = counts[kind];
    if (count < min) return [relationshipFault(name, `${human(name)} must name at least one team`)];
    if (count > max) return [relationshipFault(name, `${human(name)} can't have more than ${max} teams`)];
    return unknown;
  });
}

export const nameTaken = (): Fault => attributeFault("name", "Name has already been taken");
