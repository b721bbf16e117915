/** How busy what executes an organization's runs is. */
import { defineResource } from "../../../jsonapi/define.ts";
import { wholeNumber } from "../../../jsonapi/schemas.ts";

export interface CapacityView {
  readonly organizationName: string;
  readonly pending: number;
  readonly running: number;
}

export const organizationCapacities = defineResource<CapacityView>()(({ readOnly, toOne }) => ({
  type: "organization-capacity",
  doc: "How busy what executes an organization's runs is.",
  id: ({ organizationName }) => organizationName,
  attributes: {
    pending: readOnly(wholeNumber(), "How many plans and applies wait to be executed."),
    running: readOnly(wholeNumber(), "How many are executed."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", { id: ({ organizationName }) => organizationName }),
  },
  operations: {
    showOrganizationCapacity: {
      method: "GET",
      path: "/organizations/:organization_name/capacity",
      summary: "Show how busy what executes an organization's runs is",
      needs: "a member of the organization, or a token of it or of one of its teams",
      answer: "document",
    },
  },
}));
