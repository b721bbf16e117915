/** The entitlement set resource: the features of an organization. */
import { defineResource, definitionBuilders } from "../../jsonapi/define.ts";
import { flag } from "../../jsonapi/schemas.ts";
import { loadOrganizationForEntitlements } from "../identity/organizations/reads.ts";
import { implement } from "../shared/context.ts";

export interface EntitlementSetView {
  readonly id: string;
  readonly organizationName: string;
  readonly operations: boolean;
}

const always = (value: boolean, doc: string) =>
  definitionBuilders<EntitlementSetView>().readOnly(flag(), doc, { from: () => value });

const entitlementSets = defineResource<EntitlementSetView>()(({ readOnly }) => ({
  type: "entitlement-sets",
  doc: "The features of an organization. All organizations of a site have the same ones, except for operations.",
  id: (set) => set.id,
  attributes: {
    agents: always(true, "Agent pools."),
    "audit-logging": always(true, "The audit log, and webhooks that receive its events."),
    "cost-estimation": always(false, "Cost estimates of runs."),
    "global-run-tasks": always(false, "Run tasks of the whole organization."),
    // While this is false, Terraform and OpenTofu run locally, regardless of the workspace's execution mode.
    operations: readOnly(
      flag(),
      "Remote runs. It becomes true when an agent that can serve the organization, or a worker of the server, first connects, and then stays true.",
    ),
    "private-module-registry": always(false, "A registry of modules."),
    "private-run-tasks": always(false, "Run tasks on private networks."),
    "run-tasks": always(false, "Run tasks."),
    sso: always(true, "Single sign-on with OpenID Connect providers of the site or of the organization."),
    sentinel: always(false, "Policies."),
    "state-storage": always(true, "Storage of state."),
    teams: always(true, "Teams and their access."),
    "vcs-integrations": always(true, "Connections to version control."),
  },
  relationships: {},
  links: (set) => ({ self: `/api/v2/organizations/${set.organizationName}/entitlement-set` }),
  operations: {
    showEntitlementSet: {
      method: "GET",
      path: "/organizations/:organization_name/entitlement-set",
      summary: "Show which features an organization has",
      needs: "a member, or a token of the organization or of one of its teams",
      callers: "runs",
      answer: "document",
    },
  },
}));

export const entitlementSetResource = implement(entitlementSets, {
  async showEntitlementSet({ context, params }) {
    const organization = await loadOrganizationForEntitlements(
      context.database.reader,
      context,
      params.organizationName,
    );
    const operations = organization.operations === 1 || Number(organization.hasSiteRunners ?? 0) > 0;
    return { view: { id: organization.id, organizationName: organization.name, operations } };
  },
});
