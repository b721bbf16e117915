/** The organization resource for site admins: settings that owners can't change. Its wire type is `organizations`. */
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choiceParameter, searchParameter } from "../../../jsonapi/query.ts";
import { flag, text, wholeNumber } from "../../../jsonapi/schemas.ts";
import { timeoutPattern } from "../../../kernel/time.ts";

export interface AdminOrganizationView extends OrganizationTable {
  readonly ownerIds: readonly string[];
  readonly ownersVersion: number;
}

const timeout = text({
  min: 1,
  max: 32,
  pattern: timeoutPattern,
  sentence: "must be a duration such as 24h or 1h30m",
}).nullable();

const organizationPath = "/admin/organizations/:organization_name";
const moduleConsumers = `${organizationPath}/relationships/module-consumers` as const;
const include = ["owners"] as const;
const booleanChoices = ["true", "false"] as const;

const pathOf = ({ name }: AdminOrganizationView) => `/api/v2/admin/organizations/${name}`;

export const adminOrganizations = defineResource<AdminOrganizationView>()(({ optional, readOnly, toMany }) => ({
  type: "organizations",
  schemaName: "admin-organizations",
  doc: "An organization with the settings that only site admins can change.",
  id: (organization) => organization.name,
  version: ({ version, ownersVersion }) => [version, ownersVersion],
  attributes: {
    name: readOnly(text(), "The organization's name. Paths use it as the organization's id.", { audited: false }),
    "external-id": readOnly(text(), "An id that doesn't change when the organization is renamed.", {
      from: (organization) => organization.id,
      audited: false,
    }),
    "notification-email": readOnly(text(), "The email address for notifications to the organization.", {
      from: (organization) => organization.email,
      audited: false,
    }),
    "is-disabled": optional(
      flag(),
      "Whether the organization is disabled. For everyone but site admins it is then 404.",
      { default: false },
    ),
    "workspace-limit": optional(
      wholeNumber().nullable(),
      "The maximum number of workspaces; existing workspaces stay. Null or 0 means no limit.",
      { default: null },
    ),
    "access-beta-tools": optional(flag(), "Stored without effect.", { default: false }),
    "global-module-sharing": optional(
      flag(),
      "Whether every organization can use its modules. Setting it removes the list of module consumers. There is no registry yet, so it has no effect.",
      { default: false },
    ),
    "global-provider-sharing": optional(
      flag(),
      "Whether every organization can use its providers. There is no registry yet, so it has no effect.",
      { default: false },
    ),
    "terraform-worker-sudo-enabled": optional(flag(), "Stored without effect.", { default: false }),
    "apply-timeout": optional(timeout, "The maximum duration of an apply, if shorter than the site's limit.", {
      default: null,
    }),
    "plan-timeout": optional(timeout, "The maximum duration of a plan, if shorter than the site's limit.", {
      default: null,
    }),
    "sso-enabled": readOnly(flag(), "Always false.", { from: () => false, audited: false }),
  },
  relationships: {
    owners: toMany("users", "The members of the owners team.", { ids: (organization) => organization.ownerIds }),
    "module-consumers": toMany("organizations", "The organizations that can use its modules.", {
      related: (organization) => `${pathOf(organization)}/relationships/module-consumers`,
    }),
  },
  links: (organization) => ({ self: pathOf(organization) }),
  operations: {
    listAdminOrganizations: {
      method: "GET",
      path: "/admin/organizations",
      summary: "List all organizations",
      needs: "a site admin",
      query: {
        paged: true,
        include,
        parameters: {
          q: searchParameter("the name or email address", " Overrides `q[name]` and `q[email]`."),
          "q[name]": searchParameter("the name"),
          "q[email]": searchParameter("the email address"),
          "filter[module_producer]": choiceParameter(
            booleanChoices,
            "Only organizations that share modules (`true`) or don't (`false`).",
          ),
          "filter[provider_producer]": choiceParameter(
            booleanChoices,
            "Only organizations that share providers (`true`) or don't (`false`).",
          ),
        },
      },
      answer: "list",
    },
    showAdminOrganization: {
      method: "GET",
      path: organizationPath,
      summary: "Show an organization as site admins see it",
      needs: "a site admin",
      query: { include },
      answer: "document",
    },
    updateAdminOrganization: {
      method: "PATCH",
      path: organizationPath,
      summary: "Update the site admin settings of an organization",
      needs: "a site admin",
      body: "untyped-update",
      answer: "document",
      example: { data: { type: "organizations", attributes: { "access-beta-tools": true } } },
    },
    deleteAdminOrganization: {
      method: "DELETE",
      path: organizationPath,
      summary: "Delete an organization and everything in it",
      needs: "a site admin",
      answer: "nothing",
    },
    listModuleConsumers: {
      method: "GET",
      path: moduleConsumers,
      summary: "List the organizations that can use an organization's modules",
      needs: "a site admin",
      query: { paged: true },
      answer: "list",
    },
    replaceModuleConsumers: {
      method: "PATCH",
      path: moduleConsumers,
      summary:
        "Replace the list of organizations that can use an organization's modules, and stop sharing them with all organizations",
      needs: "a site admin",
      body: { linkage: ["organizations"] },
      answer: "nothing",
      example: { data: [] },
    },
  },
}));
