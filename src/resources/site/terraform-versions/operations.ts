/** Operations on Terraform versions. */
import type { Tx } from "../../../database/database.ts";
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import { updateOf } from "../../shared/changes.ts";
import { implement } from "../../shared/context.ts";
import { terraformVersions } from "./definition.ts";
import { changedVersion, newVersion, versionTaken } from "./rules.ts";
import {
  deleteVersionRow,
  findVersion,
  insertVersion,
  isVersionTaken,
  listVersionRows,
  updateVersionRow,
} from "./store.ts";

export const terraformVersionResource = implement(terraformVersions, {
  async listTerraformVersions({ context, query }) {
    requireSiteAdmin(context.actor);
    return listVersionRows(context.database.reader, {
      page: query.page,
      version: query.filterVersion,
      searchText: query.searchVersion,
    });
  },

  async createTerraformVersion({ context, body }) {
    const administration = requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const row = newVersion(body.attributes, { id: newId("terraform-versions"), createdAt: now() });
      throwIfInvalid((await isVersionTaken(tx, row.engineVersion)) ? [versionTaken()] : []);
      await insertVersion(tx, administration, row);
      await recordChange(tx, context, terraformVersions, { after: toAuditedVersion(row) });
      return { view: row };
    });
  },

  async showTerraformVersion({ context, params }) {
    requireSiteAdmin(context.actor);
    return { view: await loadVersion(context.database.reader, params.terraformVersionId) };
  },

  async updateTerraformVersion({ context, params, body }) {
    const administration = requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const row = await loadVersion(tx, params.terraformVersionId, true);
      context.ifMatch.check(row);
      const { changes, changed } = updateOf<EngineVersionTable>(row, changedVersion(body.attributes, row));
      if (changes === undefined) return { view: row };
      const taken = changes.engineVersion !== undefined && (await isVersionTaken(tx, changes.engineVersion));
      throwIfInvalid(taken ? [versionTaken()] : []);
      await updateVersionRow(tx, administration, row, changes);
      await recordChange(tx, context, terraformVersions, {
        before: toAuditedVersion(row),
        after: toAuditedVersion(changed),
      });
      return { view: changed };
    });
  },

  async deleteTerraformVersion({ context, params }) {
    const administration = requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const row = await loadVersion(tx, params.terraformVersionId, true);
      context.ifMatch.check(row);
      await deleteVersionRow(tx, administration, row);
      await recordChange(tx, context, terraformVersions, { before: toAuditedVersion(row) });
    });
  },
});

async function loadVersion(tx: Tx, id: string, lock = false): Promise<EngineVersionTable> {
  const row = await findVersion(tx, id, lock);
  if (row === undefined) throw notFound("terraform version");
  return row;
}

function toAuditedVersion(row: EngineVersionTable): EngineVersionTable & { readonly organizationId: null } {
  return { ...row, organizationId: null };
}
