/** Reads of organizations for site admins, for other modules. */
import type { Tx } from "../../../database/database.ts";
import type { IncludedResource } from "../../../jsonapi/define.ts";
import type { SiteAdminProof } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { adminOrganizations } from "./definition.ts";
import { findAdminOrganizations } from "./store.ts";

export async function loadIncludedOrganizations(
  tx: Tx,
  context: Context,
  _by: SiteAdminProof,
  ids: readonly string[],
  withOwners: boolean,
): Promise<IncludedResource[]> {
  if (ids.length === 0) return [];
  const views = await findAdminOrganizations(tx, ids);
  const owners = await loadIncluded(tx, context, adminOrganizations, views, new Set(withOwners ? ["owners"] : []));
  return [...views.map((view) => ({ definition: adminOrganizations, view })), ...(owners ?? [])];
}
