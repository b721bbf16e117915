/**
 * An organization as site admins see it: what they set and its owners do not. On the wire it is an `organizations` like the
 * one that its members see, with other attributes. See docs/decisions/0061-administering-organizations.md.
 */
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choice, searchParameter } from "../../../jsonapi/query.ts";
import { flag, text, wholeNumber } from "../../../jsonapi/schemas.ts";
import { timeoutPattern } from "../../../kernel/time.ts";

export interface AdminOrganizationView extends OrganizationTable {
  /** The people in the owners team. */
  readonly ownerIds: readonly string[];
  /** Of the owners team: it changes with the people in it. */
  readonly ownersVersion: number;
}

const timeout = text({
  min: 1,
  max: 32,
  pattern: timeoutPattern,
  sentence: "must be a duration such as 24h or 1h30m",
}).nullable();

const one = "/admin/organizations/:organization_name";
const moduleConsumers = `${one}/relationships/module-consumers` as const;
const include = ["owners"] as const;
const isTrue = ["true", "false"] as const;

const pathOf = ({ name }: AdminOrganizationView) => `/api/v2/admin/organizations/${name}`;

export const adminOrganizations = defineResource<AdminOrganizationView>()(({ optional, readOnly, toMany }) => ({
  type: "organizations",
  schemaName: "admin-organizations",
  doc: "An organization, with what site admins set and its owners do not.",
  id: (organization) => organization.name,
  version: ({ version, ownersVersion }) => [version, ownersVersion],
  attributes: {
    name: readOnly(text(), "It is the organization's id in paths.", { audited: false }),
    "external-id": readOnly(text(), "An id that stays when the organization is renamed.", {
      from: (organization) => organization.id,
      audited: false,
    }),
    "notification-email": readOnly(text(), "Where the organization's notices go.", {
      from: (organization) => organization.email,
      audited: false,
    }),
    "is-disabled": optional(
      flag(),
      "Whether the organization is closed: to everybody but site admins it is not there, by any token.",
      { default: false },
    ),
    "workspace-limit": optional(
      wholeNumber().nullable(),
      "How many workspaces it may have at most; those that it has stay. Null or 0: as many as it likes.",
      { default: null },
    ),
    "access-beta-tools": optional(flag(), "Stored; it changes nothing.", { default: false }),
    "global-module-sharing": optional(
      flag(),
      "Whether every organization may use its modules; then it has no consumers of its own choice. There is no registry yet.",
      { default: false },
    ),
    "global-provider-sharing": optional(flag(), "The same for providers.", { default: false }),
    "terraform-worker-sudo-enabled": optional(flag(), "Stored; it changes nothing.", { default: false }),
    "apply-timeout": optional(timeout, "How long an apply may take, where that is shorter than the site allows.", {
      default: null,
    }),
    "plan-timeout": optional(timeout, "How long a plan may take, where that is shorter than the site allows.", {
      default: null,
    }),
    "sso-enabled": readOnly(flag(), "Always false: there is no single sign-on.", { from: () => false, audited: false }),
  },
  relationships: {
    owners: toMany("users", "The people in its owners team.", { ids: (organization) => organization.ownerIds }),
    "module-consumers": toMany("organizations", "Which organizations may use its modules.", {
      related: (organization) => `${pathOf(organization)}/relationships/module-consumers`,
    }),
  },
  links: (organization) => ({ self: pathOf(organization) }),
  operations: {
    listAdminOrganizations: {
      method: "GET",
      path: "/admin/organizations",
      summary: "List all organizations of the register",
      needs: "a site admin",
      query: {
        paged: true,
        include,
        parameters: {
          q: searchParameter("the name or email address", " It goes before the other two."),
          "q[name]": searchParameter("the name"),
          "q[email]": searchParameter("the email address"),
          "filter[module_producer]": choice(isTrue, "Whether it shares modules, with all or with some."),
          "filter[provider_producer]": choice(isTrue, "Whether it shares providers."),
        },
      },
      answer: "list",
    },
    showAdminOrganization: {
      method: "GET",
      path: one,
      summary: "Show an organization as site admins see it",
      needs: "a site admin",
      query: { include },
      answer: "document",
    },
    updateAdminOrganization: {
      method: "PATCH",
      path: one,
      summary: "Change what site admins set for an organization",
      needs: "a site admin",
      body: "untyped-update",
      answer: "document",
      example: { data: { type: "organizations", attributes: { "access-beta-tools": true } } },
    },
    deleteAdminOrganization: {
      method: "DELETE",
      path: one,
      summary: "Delete an organization and everything in it",
      needs: "a site admin",
      answer: "nothing",
    },
    listModuleConsumers: {
      method: "GET",
      path: moduleConsumers,
      summary: "List the organizations that may use an organization's modules",
      needs: "a site admin",
      query: { paged: true },
      answer: "list",
    },
    replaceModuleConsumers: {
      method: "PATCH",
      path: moduleConsumers,
      summary: "Say which organizations may use an organization's modules; it is then not shared with all",
      needs: "a site admin",
      body: { linkage: ["organizations"] },
      answer: "nothing",
      example: { data: [] },
    },
  },
}));
