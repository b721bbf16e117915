/** The one operation on subscriptions. It writes nothing, so it leaves no event either. */
import { refuseIfAny, relationshipFault } from "../../../kernel/errors.ts";
import { allFeatureSets } from "../feature-sets/sets.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import { implement } from "../../shared/context.ts";
import { subscriptions } from "./definition.ts";

export const subscriptionResource = implement(subscriptions, {
  async subscribeOrganization({ context, params, body }) {
    requireSiteAdmin(context.actor);
    const organization = await loadOrganization(context.database.reader, context, params.organizationName);
    const { id } = body.data.relationships["feature-set"].data;
    refuseIfAny(
      allFeatureSets.some((set) => set.id === id)
        ? []
        : [relationshipFault("feature-set", "Feature set does not exist; GET /admin/feature-sets lists them")],
    );
    return {
      view: { organizationId: organization.id, organizationName: organization.name, featureSetId: id },
    };
  },
});
