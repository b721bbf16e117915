/** The one operation on entitlement sets. */
import { loadOrganizationToUse } from "../../identity/organizations/reads.ts";
import { implement } from "../../shared/context.ts";
import { entitlementSets } from "./definition.ts";

export const entitlementSetResource = implement(entitlementSets, {
  async showEntitlementSet({ context, params }) {
    const organization = await loadOrganizationToUse(context.database.reader, context, params.organizationName);
    const operations = organization.operations === 1 || Number(organization.siteOperations ?? 0) > 0;
    return { view: { id: organization.id, organizationName: organization.name, operations } };
  },
});
