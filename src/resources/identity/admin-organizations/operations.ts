/** Operations of site admins on organizations. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import type { RowLock } from "../../shared/locks.ts";
import { administerOrganization, closeOrganization } from "../organizations/writes.ts";
import { adminOrganizations, type AdminOrganizationView } from "./definition.ts";
import { consumerFaults } from "./rules.ts";
import {
  deleteModuleConsumers,
  findAdminOrganization,
  findOrganizationsByName,
  lockOrganizationsByName,
  insertModuleConsumers,
  listAdminOrganizationRows,
  listModuleConsumerRows,
} from "./store.ts";

const toFlag = (text: "true" | "false" | undefined) => (text === undefined ? undefined : text === "true");

export const adminOrganizationResource = implement(adminOrganizations, {
  async listAdminOrganizations({ context, query }) {
    requireSiteAdmin(context.actor);
    const tx = context.database.reader;
    const found = await listAdminOrganizationRows(tx, query.page, {
      q: query.q,
      name: query.qName,
      email: query.qEmail,
      sharesModules: toFlag(query.filterModuleProducer),
      sharesProviders: toFlag(query.filterProviderProducer),
    });
    return {
      ...found,
      included: (await loadIncluded(tx, context, adminOrganizations, found.views, query.include)) ?? [],
    };
  },

  async showAdminOrganization({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadAdminOrganization(tx, context, params.organizationName);
    return { view, included: (await loadIncluded(tx, context, adminOrganizations, [view], query.include)) ?? [] };
  },

  async updateAdminOrganization({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = await loadAdminOrganization(tx, context, params.organizationName, "change");
      context.ifMatch.check(organization);
      const { changes, changed } = updateOf<AdminOrganizationView>(
        organization,
        changedColumns(adminOrganizations, body.attributes),
      );
      if (changes === undefined) return { view: organization };
      await administerOrganization(tx, organization, changes);
      if (changes.globalModuleSharing === 1) await deleteModuleConsumers(tx, organization);
      await recordChange(tx, context, adminOrganizations, {
        before: toAuditedOrganization(organization),
        after: toAuditedOrganization(changed),
      });
      return { view: changed };
    });
  },

  async deleteAdminOrganization({ context, params }) {
    return context.database.write(async (tx) => {
      const organization = await loadAdminOrganization(tx, context, params.organizationName, "exclusive");
      context.ifMatch.check(organization);
      await closeOrganization(tx, context, organization);
      await recordChange(tx, context, adminOrganizations, { before: toAuditedOrganization(organization) });
    });
  },

  async listModuleConsumers({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadAdminOrganization(tx, context, params.organizationName);
    return listModuleConsumerRows(tx, query.page, organization.id);
  },

  async replaceModuleConsumers({ context, params, body }) {
    return context.database.write(async (tx) => {
      const names = body.map(({ id }) => id);
      await lockOrganizationsByName(tx, requireSiteAdmin(context.actor), [params.organizationName, ...names]);
      const organization = await loadAdminOrganization(tx, context, params.organizationName, "change");
      const consumers = await findOrganizationsByName(tx, names);
      throwIfInvalid(consumerFaults(organization, body, consumers));
      const before = await deleteModuleConsumers(tx, organization);
      await insertModuleConsumers(tx, organization, consumers);
      if (organization.globalModuleSharing === 1)
        await administerOrganization(tx, organization, { globalModuleSharing: 0 });
      await recordEvent(tx, context, {
        organizationId: organization.id,
        verb: "replace-module-consumers",
        subject: { type: adminOrganizations.type, id: organization.id },
        before: { "module-consumers": before, "global-module-sharing": organization.globalModuleSharing === 1 },
        after: { "module-consumers": body.map(({ id }) => id).toSorted(), "global-module-sharing": false },
      });
    });
  },
});

/** Throws `not-found`, also if the caller is not a site admin. */
async function loadAdminOrganization(
  tx: Tx,
  context: Context,
  name: string,
  lock: RowLock = false,
): Promise<Granted<AdminOrganizationView, "can-administer">> {
  const administration = requireSiteAdmin(context.actor);
  const organization = await findAdminOrganization(tx, name, lock);
  if (organization === undefined) throw notFound("organization");
  return withSiteAdminProof(administration, organization);
}

function toAuditedOrganization(
  view: AdminOrganizationView,
): AdminOrganizationView & { readonly organizationId: string } {
  return { ...view, organizationId: view.id };
}
