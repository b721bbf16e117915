/** The one operation on capacities: they follow from the runs. */
import { notFound } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { capacityOf } from "../runs/reads.ts";
import { organizationCapacities } from "./definition.ts";

export const organizationCapacityResource = implement(organizationCapacities, {
  async showOrganizationCapacity({ context, params }) {
    const view = await capacityOf(context.database.reader, context, params.organizationName);
    if (view === undefined) throw notFound("organization");
    return { view };
  },
});
