/** How a variable is granted: by what its caller holds on its workspace or set. And what neighbours ask of variables. */
import { variableSetPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { VarTable } from "../../../database/schema/variables.ts";
import { notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { VarView } from "./definition.ts";
import { valueOwner } from "./rules.ts";
import { ownPlace, type PlaceOfWorkspace } from "../varsets/reads.ts";
import {
  findPlace,
  findRankedPlace,
  findVarsetPlace,
  listVarsOfSets,
  listWinningVars,
  type RankedVar,
} from "./store.ts";

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

/** One statement, for reading. Raises `not-found` also where the set does not apply to the workspace. */
export async function loadVarInWorkspace(
  tx: Tx,
  context: Pick<Context, "actor">,
  ids: { readonly workspaceId: string; readonly varsetId: string; readonly varId: string },
): Promise<RankedVar> {
  const place = await findRankedPlace(tx, context.actor, ids);
  if (place === undefined) throw notFound("workspace");
  const { variable } = grantOnWorkspace("workspace", place, "can-read-variable");
  if (variable === undefined) throw notFound("variable");
  return variable;
}

/** The variables of sets of one organization that the caller may read. */
export async function varsOfSets(
  tx: Tx,
  context: Pick<Context, "vault">,
  _ids: readonly string[],
  setsByVar: ReadonlyMap<string, { readonly id: string; readonly organizationId: string }>,
): Promise<VarView[]> {
  const sets = [...new Set(setsByVar.values())];
  const ids = sets.map(({ id }) => id);
  const rows = await listVarsOfSets(tx, sets[0]?.organizationId ?? "", ids);
  return rows.map((row) => toVarView(context, row));
}

/** A sensitive value is not even opened. */
export function toVarView({ vault }: Pick<Context, "vault">, row: VarTable): VarView {
  const { value, ...columns } = row;
  const opened = row.sensitive === 1 ? null : Buffer.from(vault.open(valueOwner(row.id), value)).toString();
  return { ...columns, value: opened };
}

/** A variable as a run is given it. */
export interface EffectiveVariable {
  readonly key: string;
  readonly value: string;
  readonly category: "terraform" | "env";
  readonly hcl: boolean;
  readonly sensitive: boolean;
  /** Whether it comes of a set with priority: then a run's own variable does not replace it. */
  readonly priority: boolean;
}

/**
 * What is in force in a workspace, with every value opened: for its runs alone, never for a document. One statement. The same rows as
 * those of `all-vars`, by the same statement.
 */
export async function effectiveVariables(
  tx: Tx,
  vault: Context["vault"],
  workspace: PlaceOfWorkspace,
): Promise<EffectiveVariable[]> {
  const rows = await listWinningVars(tx, workspace);
  return rows.map(({ id, key, value, category, hcl, sensitive, place }) => ({
    key,
    value: Buffer.from(vault.open(valueOwner(id), value)).toString(),
    category: category as EffectiveVariable["category"],
    hcl: hcl === 1,
    sensitive: sensitive === 1,
    priority: Number(place) < ownPlace,
  }));
}

/** With a run's own variables: they replace all but those of sets with priority. Their values are expressions, and Terraform's alone. */
export function withRunVariables(
  inForce: readonly EffectiveVariable[],
  own: readonly { readonly key: string; readonly value: string }[],
): EffectiveVariable[] {
  const isTerraforms = ({ category }: EffectiveVariable) => category === "terraform";
  const fixed = new Set(inForce.flatMap((each) => (isTerraforms(each) && each.priority ? [each.key] : [])));
  const given = own.filter(({ key }) => !fixed.has(key));
  const replaced = new Set(given.map(({ key }) => key));
  const kept = inForce.filter((each) => !isTerraforms(each) || !replaced.has(each.key));
  return [
    ...kept,
    ...given.map(({ key, value }) => ({
      key,
      value,
      category: "terraform" as const,
      hcl: true,
      sensitive: false,
      priority: false,
    })),
  ];
}
