/** Operations on token TTL policies. */
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import { implement } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { authorizeOrganization, loadOrganization } from "../organizations/reads.ts";
import { organizationTokenTtlPolicies } from "./definition.ts";
import { changedPolicies, duplicateFaults } from "./rules.ts";
import { findPolicies, listPolicyRows, updatePolicies } from "./store.ts";

export const organizationTokenTtlPolicyResource = implement(organizationTokenTtlPolicies, {
  async listTokenTtlPolicies({ context, params, query }) {
    const tx = context.database.reader;
    const organization = authorizeOrganization(
      await loadOrganization(tx, context, params.organizationName),
      "can-update",
    );
    return listPolicyRows(tx, organization.id, query.page);
  },

  async updateTokenTtlPolicies({ context, params, body }) {
    const input = body.data.attributes["token-ttl-policies"];
    throwIfInvalid(duplicateFaults(input));
    return context.database.write(async (tx) => {
      // Serializes concurrent changes.
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "change"),
        "can-update",
      );
      const policies = await findPolicies(tx, organization.id);
      const updatedAt = now();
      const changes = changedPolicies(policies, input, updatedAt);
      if (changes.length === 0) return { views: policies };
      await updatePolicies(tx, organization, changes, updatedAt);
      const changed = changes.map(({ before, ...after }) => ({ before, after: afterUpdate(before, after) }));
      await recordEvents(
        tx,
        context,
        changed.map(({ before, after }) => ({
          organizationId: organization.id,
          verb: "update",
          subject: { type: organizationTokenTtlPolicies.type, id: before.id },
          before: auditedAttributes(organizationTokenTtlPolicies, before),
          after: auditedAttributes(organizationTokenTtlPolicies, after),
        })),
      );
      return {
        views: policies.map((policy) => changed.find(({ before }) => before === policy)?.after ?? policy),
      };
    });
  },
});
