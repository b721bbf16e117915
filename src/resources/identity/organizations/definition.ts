/** The organization resource. Its JSON:API id is its name. */
import { organizationPermissionFlags, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, text, timestamp, wholeNumber, neverTrue } from "../../../jsonapi/schemas.ts";

export interface OrganizationView extends OrganizationTable {
  readonly standing: OrganizationStanding;
  readonly retentionId?: string | null;
  readonly retentionKind?: string | null;
  /** 1 after a worker or agent of the site, which executes runs of every organization, has connected. */
  readonly hasSiteRunners?: number;
}

/** What other documents show of their organization. `organizationFactsVersion` is a version for their ETags. */
export interface OrganizationFacts {
  readonly organizationName: string;
  readonly organizationFactsVersion: number;
}

/** For the hook `accessRules`: of what changes of access are about. */
export interface RuledFacts extends OrganizationFacts {
  readonly enabledRuleCount: number;
}

export const factsOf = ({ name, factsVersion }: OrganizationTable): OrganizationFacts => ({
  organizationName: name,
  organizationFactsVersion: factsVersion,
});

export const ruledFactsOf = (organization: OrganizationTable): RuledFacts => ({
  ...factsOf(organization),
  enabledRuleCount: organization.enabledRuleCount,
});

export const factsColumns = ["o.name as organizationName", "o.factsVersion as organizationFactsVersion"] as const;

/** With the organization locked for reference, rules can't change until the transaction ends. */
export const ruledFactsColumns = [...factsColumns, "o.enabledRuleCount as enabledRuleCount"] as const;

const authPolicy = oneOf(["password", "two_factor_mandatory"]).refine((value) => value === "password", {
  error: "can't be 'two_factor_mandatory': two-factor authentication is not supported. Require it at your SSO provider",
});

export const executionModes = ["remote", "local", "agent"] as const;

const name = text({
  min: 3,
  max: 40,
  pattern: /^[A-Za-z0-9_-]+$/,
  sentence: "may only contain letters, numbers, dashes and underscores",
});
export const email = text({
  min: 3,
  max: 254,
  pattern: /^[^\s@]+@[^\s@]+$/,
  sentence: "must be a valid email address",
});

/** Clients read it as a 32-bit integer. */
const unlimited = 2_147_483_647;

/** The API's documentation has the first; its Go client sends the second. */
const defaultProjectSpellings = ["default_project", "default-project"] as const;

const organizationPath = (organization: OrganizationView) => `/api/v2/organizations/${organization.name}`;

export const organizations = defineResource<OrganizationView>()(({ required, optional, readOnly, toOne }) => ({
  type: "organizations",
  doc: "A tenant that owns projects, teams and workspaces.",
  id: (organization) => organization.name,
  version: (organization) => organization.version,
  attributes: {
    name: required(
      name,
      "The organization's name, unique across the site, ignoring case. Paths use it as the organization's id.",
      {
        folded: true,
      },
    ),
    email: required(email, "The email address for notifications to the organization."),
    "external-id": readOnly(text(), "An id that doesn't change when the organization is renamed.", {
      from: (organization) => organization.id,
    }),
    "default-execution-mode": optional(
      oneOf(executionModes),
      "The execution mode of workspaces that don't set their own.",
      { default: "remote" },
    ),
    "allow-force-delete-workspaces": optional(
      flag(),
      "Whether workspace admins can delete workspaces that still manage resources.",
      { default: false },
    ),
    "assessments-enforced": optional(
      flag(),
      "Whether health assessments run in every eligible workspace, regardless of the workspace's own setting.",
      { default: false },
    ),
    "collaborator-auth-policy": optional(
      authPolicy,
      "How members must sign in. `two_factor_mandatory` is rejected, because two-factor authentication is not supported.",
      { default: "password" },
    ),
    "cost-estimation-enabled": optional(flag(), "Whether runs estimate costs. It has no effect.", { default: false }),
    "enforce-hyok": optional(
      neverTrue("encryption with your own keys (HYOK) is not supported"),
      "Only false is accepted.",
      { column: false, shown: false, audited: false },
    ),
    "session-remember": optional(
      wholeNumber({ min: 1 }).nullable(),
      "Stored without effect: the site's settings decide when sessions expire.",
      { default: null },
    ),
    "session-timeout": optional(
      wholeNumber({ min: 1 }).nullable(),
      "Stored without effect: the site's settings decide when sessions end.",
      { default: null },
    ),
    "owners-team-saml-role-id": optional(
      text({ max: 255 }).nullable(),
      "Stored without effect. Use a team's `sso-team-id` to map an SSO group to it.",
      { default: null },
    ),
    "send-passing-statuses-for-untriggered-speculative-plans": optional(
      flag(),
      "Stored without effect: a change that triggers no plan gets no commit status.",
      { default: false },
    ),
    "aggregated-commit-status-enabled": optional(
      flag(),
      "Stored without effect: each workspace has its own commit status.",
      { default: true },
    ),
    "speculative-plan-management-enabled": optional(flag(), "Whether outdated speculative plans are canceled.", {
      default: true,
    }),
    "user-tokens-enabled": optional(
      flag(),
      "Whether users' own tokens work in this organization. If false, they are rejected with 401, including those of site admins. Only an organization token or a team token can set it to false.",
      { default: true },
    ),
    "max-ttl-enabled": optional(
      flag(),
      "Whether the policies at `token-ttl-policies` limit how long tokens work in this organization.",
      { default: false },
    ),
    "stacks-enabled": optional(flag(), "Stored without effect: stacks are not supported.", {
      default: false,
    }),
    "access-request-lapse-seconds": optional(
      wholeNumber({ min: 3_600, max: 2_592_000 }),
      "How long an access request waits for a decision.",
      { default: 604_800 },
    ),
    "remaining-testable-count": readOnly(
      wholeNumber(),
      "How many more modules can be tested. There is no limit, so it is always the largest number.",
      { from: () => unlimited },
    ),
    "saml-enabled": readOnly(flag(), "Always false: SAML is not supported. Single sign-on uses OpenID Connect.", {
      from: () => false,
    }),
    "two-factor-conformant": readOnly(flag(), "Always true: no member is required to use two-factor authentication.", {
      from: () => true,
    }),
    "is-unified": readOnly(flag(), "Always false.", { from: () => false }),
    permissions: readOnly(flags(organizationPermissionFlags), "What the caller can do.", {
      from: (organization) => organizationPermissions(organization.standing),
      audited: false,
    }),
    "created-at": readOnly(timestamp(), "When the organization was created."),
  },
  relationships: {
    "default-project": toOne("projects", "The project of new workspaces that don't name one.", {
      id: (organization) => organization.defaultProjectId,
      related: (organization) => `/api/v2/projects/${organization.defaultProjectId}`,
    }),
    "default-agent-pool": toOne(
      "agent-pools",
      "The agent pool of workspaces in agent mode that don't set their own; null unless the default execution mode is `agent`.",
      {
        update: "optional",
        nullable: true,
        id: (organization) => organization.defaultAgentPoolId,
      },
    ),
    "data-retention-policy": toOne(
      ["data-retention-policy-delete-olders", "data-retention-policy-dont-deletes"],
      "How long workspaces without a policy of their own keep old state versions.",
      {
        nullable: true,
        id: (organization) => organization.retentionId ?? null,
        type: (organization) => organization.retentionKind ?? "",
      },
    ),
    "entitlement-set": toOne("entitlement-sets", "The features that the organization has.", {
      id: (organization) => organization.id,
      related: (organization) => `${organizationPath(organization)}/entitlement-set`,
    }),
  },
  links: (organization) => ({ self: organizationPath(organization) }),
  operations: {
    createOrganization: {
      method: "POST",
      path: "/organizations",
      summary: "Create an organization; its creator becomes the first owner",
      needs: "a site admin, or any user if CADASTRE_ORGANIZATION_CREATION is 'anyone'",
      body: "create",
      answer: "created",
      example: { data: { type: "organizations", attributes: { name: "acme", email: "platform@acme.example" } } },
    },
    listOrganizations: {
      method: "GET",
      path: "/organizations",
      summary: "List the organizations that the caller belongs to",
      needs: "any token; lists the organizations that the caller can see",
      query: {
        paged: true,
        parameters: {
          q: searchParameter("the name or email address"),
          "q[name]": searchParameter("the name"),
        },
      },
      answer: "list",
    },
    showOrganization: {
      method: "GET",
      path: "/organizations/:organization_name",
      summary: "Show an organization",
      needs: "a member, or a token of the organization or of one of its teams",
      query: { include: defaultProjectSpellings },
      answer: "document",
    },
    updateOrganization: {
      method: "PATCH",
      path: "/organizations/:organization_name",
      summary: "Update an organization's settings",
      needs: "an owner, or the organization's token; a user's token can't disable user tokens",
      body: "update",
      answer: "document",
      example: { data: { type: "organizations", attributes: { email: "ops@acme.example" } } },
    },
    deleteOrganization: {
      method: "DELETE",
      path: "/organizations/:organization_name",
      summary: "Delete an organization and everything in it",
      needs: "an owner, or the organization's token",
      answer: "nothing",
    },
  },
}));
