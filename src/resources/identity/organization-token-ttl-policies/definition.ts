/** The token TTL policy resource: the maximum lifetime of one type of token in an organization. Policies are never deleted. */
import { z } from "zod";
import type { OrganizationTokenTtlPolicyTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { oneOf, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";

/** The names that clients expect. A token's kind is `audit-trails` instead of `audit_trails`. */
export const tokenTypes = ["organization", "team", "user", "audit_trails"] as const;

/** Two average years. */
const maxTtlMsByDefault = 63_113_904_000;
/** At least a minute, so that a new token is usable; at most a hundred years. */
const bounds = { min: 60_000, max: 3_155_695_200_000 };

const tokenType = oneOf(tokenTypes);
const maxTtlMs = wholeNumber(bounds);

const type = "organization-token-ttl-policies";
const path = "/organizations/:organization_name/token-ttl-policies";

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
  ({ requiredFixed, optional, readOnly }) => ({
    type,
    doc: "The maximum lifetime of one type of token in an organization. It applies if the organization has `max-ttl-enabled`.",
    id: (policy) => policy.id,
    attributes: {
      "token-type": requiredFixed(
        tokenType,
        "The type of token: the organization token, team tokens, user tokens or the audit log token.",
      ),
      "max-ttl-ms": optional(
        maxTtlMs,
        "The maximum lifetime in milliseconds, counted from the creation of the token.",
        { default: maxTtlMsByDefault },
      ),
      "created-at": readOnly(timestamp(), "When the policy was created.", { audited: false }),
      "updated-at": readOnly(timestamp(), "When the policy was last changed.", { audited: false }),
    },
    relationships: {},
    operations: {
      listTokenTtlPolicies: {
        method: "GET",
        path,
        summary: "List an organization's token TTL policies",
        needs: "an owner, or the organization's token",
        query: { paged: true },
        answer: "list",
      },
      updateTokenTtlPolicies: {
        method: "PATCH",
        path,
        summary: "Update an organization's token TTL policies; returns all of them",
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
