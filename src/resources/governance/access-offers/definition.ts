/** An access offer: changes of access that members of some teams can take, with one approval or none. */
import { z } from "zod";
import type { OrganizationStanding } from "../../../access/organization.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import type { AccessOfferTable } from "../../../database/schema/offers.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, flags, oneOf, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { areStorable, storableSentence } from "../access-requests/definition.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

/** The database stores these names. */
export const offerTeamKinds = ["eligible", "approver"] as const;
export type OfferTeamKind = (typeof offerTeamKinds)[number];

export interface OfferTeamIds {
  /** Sorted; only those that the caller can see. */
  readonly visible: readonly string[];
  readonly hidden: readonly string[];
}

export interface AccessOfferView extends AccessOfferTable, OrganizationFacts {
  readonly standing: OrganizationStanding;
  readonly teams: Readonly<Record<OfferTeamKind, OfferTeamIds>>;
  /** The caller's memberships among the offer's teams. */
  readonly isEligible: boolean;
  readonly isApprover: boolean;
  readonly isUser: boolean;
}

const changesMax = 20;
export const eligibleTeamsMax = 20;
export const approverTeamsMax = 20;
const durationSecondsMin = 300;
const durationSecondsLimit = 604_800;

/** Instead of a user or membership id in an offer's changes. */
export const takerPlaceholder = "$user";

const name = text({ min: 1, max: 90, pattern: /\S/, sentence: "can't be blank" });

const offeredChange = z.object({
  method: oneOf(["POST"]),
  path: text({ min: 1, max: 1024 }),
  body: z.unknown().optional(),
});

const takeAttributes = z.object({
  reason: text({ min: 1, max: 500, pattern: /\S/, sentence: "can't be blank" }),
  "duration-seconds": wholeNumber({ min: durationSecondsMin, max: durationSecondsLimit }).optional(),
});

export const managesOffers = ({ standing }: Pick<AccessOfferView, "standing">): boolean =>
  organizationPermissions(standing)["can-create-team"];

const offerPermissionsOf = (offer: AccessOfferView) => ({
  "can-update": managesOffers(offer),
  "can-destroy": managesOffers(offer),
  "can-take": offer.isUser && offer.isEligible && offer.enabled === 1,
});

const managers = "an owner, or a team with 'manage-teams'";
const writers = `${managers}, with permission to make every change`;
const readers = `${managers}, or a member of an eligible or approver team`;
const byId = "/access-offers/:access_offer_id";

const seatExample = {
  method: "POST",
  path: "/api/v2/teams/team-1234567890abcdef/relationships/users",
  body: { data: [{ type: "users", id: takerPlaceholder }] },
};

export const accessOffers = defineResource<AccessOfferView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "access-offers",
  doc: "Access that members of some teams can take without writing the changes themselves. Without approvals it is break-glass access: it is given immediately, and all owners are notified.",
  id: (offer) => offer.id,
  version: ({ version, organizationFactsVersion, teams }) => [
    version,
    organizationFactsVersion,
    ...[teams.eligible, teams.approver].map(({ visible, hidden }) => visible.length + hidden.length),
  ],
  attributes: {
    name: required(name, "Unique in the organization, ignoring case.", { folded: true }),
    description: optional(text({ max: 1024 }).nullable(), "What the access is for.", { default: null }),
    changes: required(
      z
        .array(offeredChange)
        .min(1, { error: "must contain at least one change" })
        .max(changesMax, { error: `can't have more than ${changesMax} items` })
        .refine(areStorable, { error: storableSentence }),
      `The changes, each a POST that creates a grant or adds members to a team. The string \`${takerPlaceholder}\`, sent instead of a user or membership id, stands for the person who takes the offer.`,
      { column: false, from: (offer) => JSON.parse(offer.changes) as object[] },
    ),
    "duration-seconds-max": required(
      wholeNumber({ min: durationSecondsMin, max: durationSecondsLimit }),
      "The longest time for which the access can be taken, in seconds.",
    ),
    approvals: optional(
      oneOf(["none", "one"]),
      "Whether somebody must approve. `none` is break-glass: the access is given immediately, and all owners are notified.",
      { default: "one" },
    ),
    enabled: optional(flag(), "Whether the offer can be taken, and requests made from it can be approved.", {
      default: true,
    }),
    permissions: readOnly(flags(["can-update", "can-destroy", "can-take"]), "The caller's permissions on the offer.", {
      audited: false,
      from: offerPermissionsOf,
    }),
    "created-at": readOnly(timestamp(), "When the offer was created."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (offer) => offer.organizationName,
      related: (offer) => `/api/v2/organizations/${offer.organizationName}`,
    }),
    "eligible-teams": toMany("teams", "The teams whose members can take it; 1 to 20, those that the caller can see.", {
      create: "required",
      update: "optional",
      ids: ({ teams }) => teams.eligible.visible,
    }),
    "approver-teams": toMany(
      "teams",
      "Teams whose members can approve it without permission to make the changes; at most 20, those that the caller can see. The changes are then executed as the offer's last writer.",
      { create: "optional", update: "optional", ids: ({ teams }) => teams.approver.visible },
    ),
  },
  links: (offer) => ({ self: `/api/v2/access-offers/${offer.id}` }),
  operations: {
    listAccessOffers: {
      method: "GET",
      path: "/organizations/:organization_name/access-offers",
      summary: "List the access offers that the caller can see, by name",
      needs: "a member; lists offers for managers, and for members of their teams",
      query: { paged: true },
      answer: "list",
    },
    createAccessOffer: {
      method: "POST",
      path: "/organizations/:organization_name/access-offers",
      summary: "Create an access offer",
      needs: writers,
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "access-offers",
          attributes: {
            name: "Break glass for payments",
            description: "Membership of the on-call team",
            changes: [seatExample],
            "duration-seconds-max": 3600,
            approvals: "none",
          },
          relationships: { "eligible-teams": { data: [{ type: "teams", id: "team-1234567890abcdef" }] } },
        },
      },
    },
    showAccessOffer: {
      method: "GET",
      path: byId,
      summary: "Show an access offer",
      needs: readers,
      answer: "document",
    },
    updateAccessOffer: {
      method: "PATCH",
      path: byId,
      summary: "Update an access offer; the caller becomes its last writer",
      needs: writers,
      body: "update",
      answer: "document",
      example: { data: { type: "access-offers", attributes: { "duration-seconds-max": 1800 } } },
    },
    deleteAccessOffer: {
      method: "DELETE",
      path: byId,
      summary: "Delete an access offer; pending requests made from it can no longer be approved",
      needs: managers,
      answer: "nothing",
    },
    takeAccessOffer: {
      method: "POST",
      path: `${byId}/actions/take`,
      summary: "Take an access offer: request its changes, or make them immediately if it needs no approval",
      needs: "a user who is a member of an eligible team",
      body: {
        // Also the type of the answer, because clients send either.
        custom: z.object({
          data: z.object({ type: z.enum(["access-offers", "access-requests"]), attributes: takeAttributes }),
        }),
      },
      answer: "created",
      mayWarn: true,
      answerType: "access-requests",
      example: {
        data: { type: "access-offers", attributes: { reason: "Incident 4711", "duration-seconds": 900 } },
      },
    },
  },
}));
