/** Reads of access rules for other folders. */
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import type { AccessRuleView } from "./definition.ts";
import { findAccessRules } from "./store.ts";

export { enabledRulesOf } from "./store.ts";

export async function readableAccessRules(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  ids: readonly string[],
): Promise<AccessRuleView[]> {
  const found = await findAccessRules(tx, actor, ids);
  return found.filter((rule) => organizationPermissions(rule.standing)["can-update"]);
}
