/** How a variable is granted: by what its caller holds on its workspace or set. And what neighbours ask of variables. */
import { variableSetPermissions } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import type { VarTable } from "../../../database/schema/variables.ts";
import { notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { VarView } from "./definition.ts";
import { valueOwner } from "./rules.ts";
import { findPlace, findVarsetPlace, listVarsOfSets } from "./store.ts";

/**
 * One statement, for reading. Raises `not-found` where the caller may not see the workspace, or it has no such variable, and
 * `forbidden` where its variables may not be read: then it does not tell which there are.
 */
export async function loadVar(
  tx: Tx,
  context: Pick<Context, "actor">,
  ids: { readonly workspaceId: string; readonly varId: string },
): Promise<VarTable> {
  const place = await findPlace(tx, context.actor, ids);
  if (place === undefined) throw notFound("workspace");
  const { variable } = grantOnWorkspace("workspace", place, "can-read-variable");
  if (variable === undefined) throw notFound("variable");
  return variable;
}

/** One statement, for reading. Raises `not-found` where the caller may not see the set, or it has no such variable. */
export async function loadVarsetVar(
  tx: Tx,
  context: Pick<Context, "actor">,
  ids: { readonly varsetId: string; readonly varId: string },
): Promise<VarTable> {
  const place = await findVarsetPlace(tx, context.actor, ids);
  if (place === undefined || !variableSetPermissions(place)["can-read"]) throw notFound("variable set");
  if (place.variable === undefined) throw notFound("variable");
  return place.variable;
}

/** The variables of sets of one organization that the caller may read, to show them beside the sets. */
export async function varsOfSets(
  tx: Tx,
  context: Pick<Context, "vault">,
  organizationId: string,
  ids: readonly string[],
): Promise<VarView[]> {
  const rows = await listVarsOfSets(tx, organizationId, ids);
  return rows.map((row) => toVarView(context, row));
}

/** A sensitive value is not even opened. */
export function toVarView({ vault }: Pick<Context, "vault">, row: VarTable): VarView {
  const { value, ...columns } = row;
  const opened = row.sensitive === 1 ? null : Buffer.from(vault.open(valueOwner(row.id), value)).toString();
  return { ...columns, value: opened };
}
