/** Operations on engine versions: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import { notFound, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import { changesOf } from "../../shared/changes.ts";
import { implement } from "../../shared/context.ts";
import { checkIfMatch } from "../../shared/preconditions.ts";
import { terraformVersions } from "./definition.ts";
import { grantAdministration, newVersion, toColumns, versionTaken } from "./rules.ts";
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
      part: query.searchVersion,
    });
  },

  async createTerraformVersion({ context, body }) {
    requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const identity = { id: newId("terraform-versions"), createdAt: now() };
      const row = grantAdministration(context.actor, newVersion(body.attributes, identity), "can-update");
      refuseIfAny((await isVersionTaken(tx, row.engineVersion)) ? [versionTaken()] : []);
      await insertVersion(tx, row);
      await recordChange(tx, context, terraformVersions, { after: inAudit(row) });
      return { view: row };
    });
  },

  async showTerraformVersion({ context, params }) {
    requireSiteAdmin(context.actor);
    return { view: await loadVersion(context.database.reader, params.terraformVersionId) };
  },

  async updateTerraformVersion({ context, params, body, ifMatch }) {
    requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const found = await loadVersion(tx, params.terraformVersionId, true);
      const row = grantAdministration(context.actor, found, "can-update");
      checkIfMatch(ifMatch, terraformVersions, row);
      const changes = changesOf<EngineVersionTable>(row, toColumns(body.attributes));
      if (changes === undefined) return { view: row };
      const changed: EngineVersionTable = { ...row, ...changes, version: row.version + 1 };
      const taken = changes.engineVersion !== undefined && (await isVersionTaken(tx, changes.engineVersion));
      refuseIfAny(taken ? [versionTaken()] : []);
      await updateVersionRow(tx, row, changes);
      await recordChange(tx, context, terraformVersions, { before: inAudit(row), after: inAudit(changed) });
      return { view: changed };
    });
  },

  async deleteTerraformVersion({ context, params, ifMatch }) {
    requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const found = await loadVersion(tx, params.terraformVersionId, true);
      const row = grantAdministration(context.actor, found, "can-destroy");
      checkIfMatch(ifMatch, terraformVersions, row);
      await deleteVersionRow(tx, row);
      await recordChange(tx, context, terraformVersions, { before: inAudit(row) });
    });
  },
});

async function loadVersion(tx: Tx, id: string, lock = false): Promise<EngineVersionTable> {
  const row = await findVersion(tx, id, lock);
  if (row === undefined) throw notFound("terraform version");
  return row;
}

/** It belongs to no organization. */
function inAudit(row: EngineVersionTable): EngineVersionTable & { readonly organizationId: null } {
  return { ...row, organizationId: null };
}
