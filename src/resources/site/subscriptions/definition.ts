/** An organization's subscription to a feature set: taken for the sake of clients, and without any effect. */
import { z } from "zod";
import { defineResource, wordsFor } from "../../../jsonapi/define.ts";
import { flag, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";

export interface SubscriptionView {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly featureSetId: string;
}

/** Limits and dates are left alone: there is nothing that they could limit or end. */
const asked = z.object({
  data: z.object({
    type: z.enum(["subscription", "subscriptions"]),
    relationships: z.object({
      "feature-set": z.object({ data: z.object({ type: z.literal("feature-sets"), id: text({ min: 1, max: 256 }) }) }),
    }),
  }),
});

const unlimited = (doc: string) =>
  wordsFor<SubscriptionView>().readOnly(wholeNumber().nullable(), doc, { from: () => null });

export const subscriptions = defineResource<SubscriptionView>()(({ readOnly, toOne }) => ({
  type: "subscriptions",
  doc: "What an organization is subscribed to. It changes nothing and is not kept: every organization has every feature of the service, without limits and without an end.",
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
    "feature-set": toOne("feature-sets", "The one that was asked for; all of them give the same.", {
      id: (subscription) => subscription.featureSetId,
    }),
  },
  operations: {
    subscribeOrganization: {
      method: "POST",
      path: "/admin/organizations/:organization_name/subscription",
      summary: "Subscribe an organization to a feature set, which changes nothing",
      needs: "a site admin",
      body: { custom: asked },
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
