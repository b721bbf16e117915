/** Operations on access violations. Only the background job writes them. */
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { implement } from "../../shared/context.ts";
import { changesWithin, loadIncluded } from "../../shared/includes.ts";
import { accessViolations } from "./definition.ts";
import { listViolations } from "./store.ts";
import { requestViolationScan } from "./writes.ts";

export const accessViolationResource = implement(accessViolations, {
  async listAccessViolations({ context, params, query }) {
    const tx = context.database.reader;
    const organization = authorizeOrganization(
      await loadOrganization(tx, context, params.organizationName),
      "can-update",
    );
    const { views, totalCount, computedAt, tokenExpiresMs } = await listViolations(
      tx,
      organization,
      query.filterRule,
      query.page,
    );
    return {
      views,
      totalCount,
      meta: { "computed-at": computedAt },
      included: await loadIncluded(tx, context, accessViolations, views, query.include),
      changesWith: changesWithin(organization.id, query.include),
      ...(tokenExpiresMs > 0 && { until: tokenExpiresMs }),
    };
  },

  async refreshAccessViolations({ context, params }) {
    await context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "organization-only"),
        "can-update",
      );
      await recordEvent(tx, context, {
        organizationId: organization.id,
        verb: "refresh-access-violations",
        subject: { type: "organizations", id: organization.id },
      });
      await requestViolationScan(tx, context, organization, organization.id);
    });
  },
});
