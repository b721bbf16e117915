/** Feature sets and subscriptions, which clients of HCP Terraform expect. They have no effect and are not stored. */
import { z } from "zod";
import { defineResource, definitionBuilders } from "../../jsonapi/define.ts";
import { searchParameter } from "../../jsonapi/query.ts";
import { flag, text, timestamp, wholeNumber } from "../../jsonapi/schemas.ts";
import { throwIfInvalid, relationshipFault } from "../../kernel/errors.ts";
import { fold, searchWords } from "../../kernel/text.ts";
import { loadOrganization } from "../identity/organizations/reads.ts";
import { requireSiteAdmin } from "../shared/administration.ts";
import { implement } from "../shared/context.ts";

export interface FeatureSetView {
  readonly id: string;
  readonly name: string;
  readonly identifier: string;
}

const featureSets = defineResource<FeatureSetView>()(({ readOnly }) => ({
  type: "feature-sets",
  doc: "A plan of HCP Terraform. All feature sets are equivalent: every organization has every feature, regardless of its subscription.",
  id: (set) => set.id,
  attributes: {
    name: readOnly(text(), "The plan's name."),
    identifier: readOnly(text(), "The plan's name as an identifier."),
    cost: readOnly(wholeNumber(), "Always 0.", { from: () => 0 }),
  },
  relationships: {},
  operations: {
    listFeatureSets: {
      method: "GET",
      path: "/admin/feature-sets",
      summary: "List feature sets; they differ only in their names",
      needs: "a site admin",
      query: { paged: true, parameters: { q: searchParameter("the name") } },
      answer: "list",
    },
  },
}));

const allFeatureSets: readonly FeatureSetView[] = [
  { id: "fs-business", name: "Business", identifier: "business" },
  { id: "fs-free", name: "Free", identifier: "free" },
  { id: "fs-standard-entitlement", name: "Standard (entitlement)", identifier: "standard_entitlement" },
];

function featureSetsNamed(searchText: string): FeatureSetView[] {
  const words = searchWords(searchText);
  return allFeatureSets.filter(({ name }) => words.every((word) => fold(name).includes(word)));
}

export const featureSetResource = implement(featureSets, {
  async listFeatureSets({ context, query }) {
    requireSiteAdmin(context.actor);
    const found = featureSetsNamed(query.q ?? "");
    const { number, size } = query.page;
    return { views: found.slice((number - 1) * size, number * size), totalCount: found.length };
  },
});

export interface SubscriptionView {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly featureSetId: string;
}

/** Limits and dates are ignored, because nothing is limited. */
const subscriptionBody = z.object({
  data: z.object({
    type: z.enum(["subscription", "subscriptions"]),
    relationships: z.object({
      "feature-set": z.object({ data: z.object({ type: z.literal("feature-sets"), id: text({ min: 1, max: 256 }) }) }),
    }),
  }),
});

const unlimited = (doc: string) =>
  definitionBuilders<SubscriptionView>().readOnly(wholeNumber().nullable(), doc, { from: () => null });

const subscriptions = defineResource<SubscriptionView>()(({ readOnly, toOne }) => ({
  type: "subscriptions",
  doc: "The subscription of an organization. It has no effect and is not stored: every organization has every feature, without limits or an end date.",
  id: (subscription) => subscription.organizationId.replace(/^org-/, "sub-"),
  attributes: {
    "is-active": readOnly(flag(), "Always true.", { from: () => true }),
    "end-at": readOnly(timestamp().nullable(), "Always null: it never ends.", { from: () => null }),
    "runs-ceiling": unlimited("Always null: there is no limit."),
    "agents-ceiling": unlimited("Always null: there is no limit."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (subscription) => subscription.organizationName,
      related: (subscription) => `/api/v2/organizations/${subscription.organizationName}`,
    }),
    "feature-set": toOne("feature-sets", "The requested feature set; all of them are equivalent.", {
      id: (subscription) => subscription.featureSetId,
    }),
  },
  operations: {
    subscribeOrganization: {
      method: "POST",
      path: "/admin/organizations/:organization_name/subscription",
      summary: "Subscribe an organization to a feature set; this has no effect",
      needs: "a site admin",
      body: { custom: subscriptionBody },
      answer: "document",
      example: {
        data: {
          type: "subscription",
          relationships: { "feature-set": { data: { type: "feature-sets", id: "fs-business" } } },
        },
      },
    },
  },
}));

export const subscriptionResource = implement(subscriptions, {
  async subscribeOrganization({ context, params, body }) {
    requireSiteAdmin(context.actor);
    const organization = await loadOrganization(context.database.reader, context, params.organizationName);
    const { id } = body.data.relationships["feature-set"].data;
    throwIfInvalid(
      allFeatureSets.some((set) => set.id === id)
        ? []
        : [relationshipFault("feature-set", "Feature set does not exist; see GET /admin/feature-sets")],
    );
    return {
      view: { organizationId: organization.id, organizationName: organization.name, featureSetId: id },
    };
  },
});
