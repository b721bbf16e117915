/** Feature sets: what clients of HCP Terraform look for before they subscribe an organization to one. */
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { text, wholeNumber } from "../../../jsonapi/schemas.ts";

export interface FeatureSetView {
  readonly id: string;
  readonly name: string;
  readonly identifier: string;
}

export const featureSets = defineResource<FeatureSetView>()(({ readOnly }) => ({
  type: "feature-sets",
  doc: "A plan of HCP Terraform, by the name that clients ask for. All of them are the same here: every organization has every feature of the service, whatever it is subscribed to.",
  id: (set) => set.id,
  attributes: {
    name: readOnly(text(), "The plan's name."),
    identifier: readOnly(text(), "The name as an identifier."),
    cost: readOnly(wholeNumber(), "Always 0: nothing is sold.", { from: () => 0 }),
  },
  relationships: {},
  operations: {
    listFeatureSets: {
      method: "GET",
      path: "/admin/feature-sets",
      summary: "List the feature sets, which differ in nothing but their names",
      needs: "a site admin",
      query: { paged: true, parameters: { q: searchParameter("the name") } },
      answer: "list",
    },
  },
}));
