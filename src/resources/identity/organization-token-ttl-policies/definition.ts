/**
 * How long tokens of one type work in an organization that has `max-ttl-enabled`. Each organization has one policy for each
 * type from its beginning on; they are changed together and never removed. See docs/decisions/0060-token-lifetimes.md.
 */
import { z } from "zod";
import type { OrganizationTokenTtlPolicyTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { oneOf, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";

/** As clients spell them here; elsewhere the last is `audit-trails`. */
export const tokenTypes = ["organization", "team", "user", "audit_trails"] as const;

/** Two years, as long as a year is on average. */
const maxTtlMsByDefault = 63_113_904_000;
/** From a minute, so that a new token can still do something, to a hundred years. */
const bounds = { min: 60_000, max: 3_155_695_200_000 };

const tokenType = oneOf(tokenTypes);
const maxTtlMs = wholeNumber(bounds);

const type = "organization-token-ttl-policies";
const path = "/organizations/:organization_name/token-ttl-policies";

/** Some of the policies at once; the others stay. */
const changes = z.object({
  data: z.object({
    type: z.literal(type),
    attributes: z.object({
      "token-ttl-policies": z
        .array(z.object({ "token-type": tokenType, "max-ttl-ms": maxTtlMs }))
        .min(1, { error: "can't be blank" })
        .max(tokenTypes.length),
    }),
  }),
});

export const organizationTokenTtlPolicies = defineResource<OrganizationTokenTtlPolicyTable>()(
  ({ once, optional, readOnly }) => ({
    type,
    doc: "How long tokens of one type work in an organization, in milliseconds from when they were made. It is in force where the organization has `max-ttl-enabled`.",
    id: (policy) => policy.id,
    attributes: {
      "token-type": once(
        tokenType,
        "Whose tokens: the organization's, its teams', users' or the one for the audit trail.",
      ),
      "max-ttl-ms": optional(maxTtlMs, "How long they work.", { default: maxTtlMsByDefault }),
      "created-at": readOnly(timestamp(), "When it was made.", { audited: false }),
      "updated-at": readOnly(timestamp(), "When it was last changed.", { audited: false }),
    },
    relationships: {},
    operations: {
      listTokenTtlPolicies: {
        method: "GET",
        path,
        summary: "List how long tokens may work in an organization, for each type of token",
        needs: "an owner, or the organization's token",
        query: { paged: true },
        answer: "list",
      },
      updateTokenTtlPolicies: {
        method: "PATCH",
        path,
        summary: "Change how long tokens may work in an organization; answers all policies",
        needs: "an owner, or the organization's token",
        body: { custom: changes },
        answer: "list",
        example: {
          data: { type, attributes: { "token-ttl-policies": [{ "token-type": "team", "max-ttl-ms": 7_776_000_000 }] } },
        },
      },
    },
  }),
);
