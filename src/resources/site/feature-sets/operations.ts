/** The one operation on feature sets. */
import { requireSiteAdmin } from "../../shared/administration.ts";
import { implement } from "../../shared/context.ts";
import { featureSets } from "./definition.ts";
import { featureSetsNamed } from "./sets.ts";

export const featureSetResource = implement(featureSets, {
  async listFeatureSets({ context, query }) {
    requireSiteAdmin(context.actor);
    const found = featureSetsNamed(query.q ?? "");
    const { number, size } = query.page;
    return { views: found.slice((number - 1) * size, number * size), totalCount: found.length };
  },
});
