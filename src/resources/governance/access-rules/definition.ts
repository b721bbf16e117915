/** The access rule resource: a policy in Cedar that changes of access must satisfy. */
import { z } from "zod";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { AccessRuleTable } from "../../../database/schema/governance.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

export interface AccessRuleView extends AccessRuleTable, OrganizationFacts {
  readonly standing: OrganizationStanding;
}

const name = text({ min: 1, max: 90, pattern: /\S/, sentence: "can't be blank" });

const policyBytesMax = 16_384;

const policy = text({ min: 1, max: policyBytesMax })
  .refine((value) => Buffer.byteLength(value) <= policyBytesMax, {
    error: `is too long (maximum is ${policyBytesMax} bytes)`,
  })
  .meta({ minLength: 1, maxLength: policyBytesMax }) as z.ZodType<string>;

const examplePolicy = `@message("Access to production ends within a week.")
forbid (principal, action in [Action::"grant", Action::"update"], resource is Workspace)
when { resource.hasTag("env") && resource.getTag("env") == "prod" }
unless { context has expiresInSeconds && context.expiresInSeconds <= 604800 };`;

const needs = "an owner, or the organization's token";

export const accessRules = defineResource<AccessRuleView>()(({ required, optional, readOnly, toOne }) => ({
  type: "access-rules",
  doc: "A policy in Cedar. Every change of access that it matches is refused, needs an approved access request, or gets a warning.",
  id: (rule) => rule.id,
  version: (rule) => [rule.version, rule.organizationFactsVersion],
  attributes: {
    name: required(name, "The rule's name, unique in the organization, ignoring case.", {
      folded: true,
    }),
    description: optional(text({ max: 1024 }).nullable(), "What the rule is for.", { default: null }),
    policy: required(
      policy,
      "One static `forbid` policy in Cedar, valid for the schema at `access-rules/schema`, of at most 2,500 words, operators and punctuation marks. Its `@message` is shown to those it refuses.",
    ),
    enforcement: required(
      oneOf(["forbid", "approval", "advise"]),
      "What happens to a change that the policy matches: it is refused (`forbid`), refused without an approved access request (`approval`), or allowed with a warning in `meta.warnings` (`advise`).",
    ),
    enabled: optional(flag(), "Whether changes are checked against the rule.", { default: true }),
    "created-at": readOnly(timestamp(), "When the rule was created."),
    "updated-at": readOnly(timestamp(), "When the rule was last changed.", { audited: false }),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (rule) => rule.organizationName,
      related: (rule) => `/api/v2/organizations/${rule.organizationName}`,
    }),
  },
  links: (rule) => ({ self: `/api/v2/access-rules/${rule.id}` }),
  operations: {
    createAccessRule: {
      method: "POST",
      path: "/organizations/:organization_name/access-rules",
      summary: "Create an access rule",
      needs,
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "access-rules",
          attributes: { name: "production-ends", policy: examplePolicy, enforcement: "approval", enabled: false },
        },
      },
    },
    listAccessRules: {
      method: "GET",
      path: "/organizations/:organization_name/access-rules",
      summary: "List access rules",
      needs,
      query: { paged: true },
      answer: "list",
    },
    validatePolicy: {
      method: "POST",
      path: "/organizations/:organization_name/access-rules/actions/validate",
      summary: "Check a policy as on creation, without storing a rule",
      needs,
      body: {
        custom: z.object({
          data: z.object({ type: z.literal("access-rules"), attributes: z.object({ policy }) }),
        }),
      },
      answer: "nothing",
      example: { data: { type: "access-rules", attributes: { policy: examplePolicy } } },
    },
    showAccessRuleSchema: {
      method: "GET",
      path: "/organizations/:organization_name/access-rules/schema",
      summary: "Fetch the Cedar schema of access rules",
      needs: "a member",
      answer: "content",
      mediaType: "text/plain; charset=utf-8",
    },
    showAccessRule: {
      method: "GET",
      path: "/access-rules/:access_rule_id",
      summary: "Show an access rule",
      needs,
      answer: "document",
    },
    updateAccessRule: {
      method: "PATCH",
      path: "/access-rules/:access_rule_id",
      summary: "Update an access rule",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "access-rules", attributes: { description: "Agreed with the auditors" } } },
    },
    deleteAccessRule: {
      method: "DELETE",
      path: "/access-rules/:access_rule_id",
      summary: "Delete an access rule",
      needs,
      answer: "nothing",
    },
  },
}));
