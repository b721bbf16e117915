/** An organization: the tenant. Its JSON:API id is its name. */
import { organizationPermissionFlags, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Standing } from "../../../access/organization.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, text, timestamp, wholeNumber, neverTrue } from "../../../jsonapi/schemas.ts";

export interface OrganizationView extends OrganizationTable {
  readonly standing: Standing;
  readonly retentionId?: string | null;
  readonly retentionKind?: string | null;
  /** Not 0 where something executes for every organization. */
  readonly siteOperations?: number;
}

/** What documents of an organization's things show of it: its name, and how often what they show has changed. */
export interface OrganizationFacts {
  readonly organizationName: string;
  readonly organizationFacts: number;
}

export const factsOf = ({ name, factsVersion }: OrganizationTable): OrganizationFacts => ({
  organizationName: name,
  organizationFacts: factsVersion,
});

/** The same as columns, where the organization is `o`. */
export const factsColumns = ["o.name as organizationName", "o.factsVersion as organizationFacts"] as const;

const authPolicy = oneOf(["password", "two_factor_mandatory"]).refine((value) => value === "password", {
  error:
    "can't be 'two_factor_mandatory': the service has no second factor. Require one at a provider of single sign-on",
});

export const executionModes = ["remote", "local", "agent"] as const;

const name = text({
  min: 3,
  max: 40,
  pattern: /^[A-Za-z0-9_-]+$/,
  sentence: "may only contain letters, numbers, dashes and underscores",
});
export const email = text({ min: 3, max: 254, pattern: /^[^\s@]+@[^\s@]+$/, sentence: "must be an e-mail address" });

/** Clients take it for a number of 32 bits. */
const unlimited = 2_147_483_647;

/** One relationship by two spellings: the API's own, and the one that its client sends. */
const defaultProjectSpellings = ["default_project", "default-project"] as const;

const organizationPath = (organization: OrganizationView) => `/api/v2/organizations/${organization.name}`;

export const organizations = defineResource<OrganizationView>()(({ required, optional, readOnly, toOne }) => ({
  type: "organizations",
  doc: "A tenant: it owns projects, teams and workspaces, and shares none of them.",
  id: (organization) => organization.name,
  version: (organization) => organization.version,
  attributes: {
    name: required(name, "Unique in the register, ignoring case; it is the organization's id in paths.", {
      folded: true,
    }),
    email: required(email, "Where the organization's notices go."),
    "external-id": readOnly(text(), "An id that stays when the organization is renamed.", {
      from: (organization) => organization.id,
    }),
    "default-execution-mode": optional(
      oneOf(executionModes),
      "What workspaces without an execution mode of their own use.",
      { default: "remote" },
    ),
    "allow-force-delete-workspaces": optional(
      flag(),
      "Whether workspace admins may delete workspaces that still manage resources.",
      { default: false },
    ),
    "assessments-enforced": optional(
      flag(),
      "Whether every eligible workspace is assessed, whatever its own setting.",
      { default: false },
    ),
    "collaborator-auth-policy": optional(
      authPolicy,
      "How members must sign in. `two_factor_mandatory` is refused: the service has no second factor.",
      { default: "password" },
    ),
    "cost-estimation-enabled": optional(flag(), "Whether runs estimate costs.", { default: false }),
    "enforce-hyok": optional(
      neverTrue("the service has no encryption by keys that are held elsewhere"),
      "Only false is taken.",
      { column: false, shown: false, audited: false },
    ),
    "session-remember": optional(
      wholeNumber({ min: 1 }).nullable(),
      "Stored; it changes nothing: sessions expire as the site's settings say.",
      { default: null },
    ),
    "session-timeout": optional(
      wholeNumber({ min: 1 }).nullable(),
      "Stored; it changes nothing: sessions end as the site's settings say.",
      { default: null },
    ),
    "owners-team-saml-role-id": optional(
      text({ max: 255 }).nullable(),
      "Stored; it changes nothing. A team's `sso-team-id` maps a group to it.",
      { default: null },
    ),
    "send-passing-statuses-for-untriggered-speculative-plans": optional(
      flag(),
      "Whether checks pass where no plan was needed.",
      { default: false },
    ),
    "aggregated-commit-status-enabled": optional(flag(), "Whether commit statuses are sent as one.", { default: true }),
    "speculative-plan-management-enabled": optional(flag(), "Whether outdated speculative plans are cancelled.", {
      default: true,
    }),
    "user-tokens-enabled": optional(
      flag(),
      "Whether users' own tokens may be used here. If not, they are refused with 401, site admins' too; only a token of the organization or of a team switches them off.",
      { default: true },
    ),
    "max-ttl-enabled": optional(
      flag(),
      "Whether tokens work here no longer than the policies at `token-ttl-policies` say.",
      { default: false },
    ),
    "stacks-enabled": optional(flag(), "Whether stacks may be made. There are none, so it changes nothing.", {
      default: false,
    }),
    "remaining-testable-count": readOnly(
      wholeNumber(),
      "How many more modules may be tested: there is no limit, so it is always the largest number.",
      { from: () => unlimited },
    ),
    "saml-enabled": readOnly(flag(), "Always false: there is no single sign-on.", { from: () => false }),
    "two-factor-conformant": readOnly(flag(), "Always true: no member is required to have a second factor.", {
      from: () => true,
    }),
    "is-unified": readOnly(flag(), "Always false.", { from: () => false }),
    permissions: readOnly(flags(organizationPermissionFlags), "What the caller may do.", {
      from: (organization) => organizationPermissions(organization.standing),
      audited: false,
    }),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    "default-project": toOne("projects", "Where workspaces go that name no project.", {
      id: (organization) => organization.defaultProjectId,
      related: (organization) => `/api/v2/projects/${organization.defaultProjectId}`,
    }),
    "default-agent-pool": toOne(
      "agent-pools",
      "What workspaces in agent mode without a pool of their own use; null in every other default execution mode.",
      {
        update: "optional",
        nullable: true,
        id: (organization) => organization.defaultAgentPoolId,
      },
    ),
    "data-retention-policy": toOne(
      ["data-retention-policy-delete-olders", "data-retention-policy-dont-deletes"],
      "How long old state is kept in workspaces that don't say so themselves.",
      {
        nullable: true,
        id: (organization) => organization.retentionId ?? null,
        type: (organization) => organization.retentionKind ?? "",
      },
    ),
    "entitlement-set": toOne("entitlement-sets", "Which features the organization has.", {
      id: (organization) => organization.id,
      related: (organization) => `${organizationPath(organization)}/entitlement-set`,
    }),
  },
  links: (organization) => ({ self: organizationPath(organization) }),
  operations: {
    createOrganization: {
      method: "POST",
      path: "/organizations",
      summary: "Create an organization; its maker becomes its first owner",
      needs: "a site admin; any user where CADASTRE_ORGANIZATION_CREATION is 'anyone'",
      body: "create",
      answer: "created",
      example: { data: { type: "organizations", attributes: { name: "acme", email: "platform@acme.example" } } },
    },
    listOrganizations: {
      method: "GET",
      path: "/organizations",
      summary: "List the organizations that the caller belongs to",
      needs: "any token; shows what the caller may see",
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
      summary: "Change an organization's settings",
      needs: "an owner, or the organization's token; users' tokens are not switched off by one of them",
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
