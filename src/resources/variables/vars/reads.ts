/** Reads of variables for other modules, and the permission checks on a variable. */
import { variableSetPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { VarTable } from "../../../database/schema/variables.ts";
import { notFound } from "../../../kernel/errors.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { VarView } from "./definition.ts";
import { valueOwner } from "./rules.ts";
import { ownRanking, type WorkspaceLocation } from "../varsets/reads.ts";
import {
  findWorkspaceVar,
  findRankedVar,
  findVarsetVar,
  listVarsOfSets,
  listWinningVars,
  type RankedVar,
} from "./store.ts";

/** Throws `not-found`; or `forbidden`, whether or not the variable exists, if the caller can't read variables. */
export async function loadVar(
  tx: Tx,
  context: Pick<Context, "actor">,
  ids: { readonly workspaceId: string; readonly varId: string },
): Promise<VarTable> {
  const found = await findWorkspaceVar(tx, context.actor, ids);
  if (found === undefined) throw notFound("workspace");
  const { variable } = authorizeOnWorkspace("workspace", found, "can-read-variable");
  if (variable === undefined) throw notFound("variable");
  return variable;
}

export async function loadVarsetVar(
  tx: Tx,
  context: Pick<Context, "actor">,
  ids: { readonly varsetId: string; readonly varId: string },
): Promise<VarTable> {
  const found = await findVarsetVar(tx, context.actor, ids);
  if (found === undefined || !variableSetPermissions(found)["can-read"]) throw notFound("variable set");
  if (found.variable === undefined) throw notFound("variable");
  return found.variable;
}

/** Throws `not-found`, also if the variable set doesn't apply to the workspace. */
export async function loadVarInWorkspace(
  tx: Tx,
  context: Pick<Context, "actor">,
  ids: { readonly workspaceId: string; readonly varsetId: string; readonly varId: string },
): Promise<RankedVar> {
  const found = await findRankedVar(tx, context.actor, ids);
  if (found === undefined) throw notFound("workspace");
  const { variable } = authorizeOnWorkspace("workspace", found, "can-read-variable");
  if (variable === undefined) throw notFound("variable");
  return variable;
}

/** The sets must belong to one organization, and the caller must be able to read them. */
export async function loadVarsOfSets(
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

export function toVarView({ vault }: Pick<Context, "vault">, row: VarTable): VarView {
  const { value, ...columns } = row;
  const decrypted = row.sensitive === 1 ? null : Buffer.from(vault.open(valueOwner(row.id), value)).toString();
  return { ...columns, value: decrypted };
}

export interface EffectiveVariable {
  readonly key: string;
  readonly value: string;
  readonly category: "terraform" | "env";
  readonly hcl: boolean;
  readonly sensitive: boolean;
  readonly priority: boolean;
}

/** All values are decrypted: only for runs, never for a document. Selects the same rows as `all-vars`. */
export async function effectiveVariables(
  tx: Tx,
  vault: Context["vault"],
  workspace: WorkspaceLocation,
): Promise<EffectiveVariable[]> {
  const rows = await listWinningVars(tx, workspace);
  return rows.map(({ id, key, value, category, hcl, sensitive, ranking }) => ({
    key,
    value: Buffer.from(vault.open(valueOwner(id), value)).toString(),
    category: category as EffectiveVariable["category"],
    hcl: hcl === 1,
    sensitive: sensitive === 1,
    priority: Number(ranking) < ownRanking,
  }));
}

/** A run's own variables override all others except those of priority variable sets. Their values are HCL. */
export function withRunVariables(
  effective: readonly EffectiveVariable[],
  own: readonly { readonly key: string; readonly value: string }[],
): EffectiveVariable[] {
  const isTerraformVariable = ({ category }: EffectiveVariable) => category === "terraform";
  const fixedKeys = new Set(
    effective.flatMap((each) => (isTerraformVariable(each) && each.priority ? [each.key] : [])),
  );
  const runVariables = own.filter(({ key }) => !fixedKeys.has(key));
  const replaced = new Set(runVariables.map(({ key }) => key));
  const remaining = effective.filter((each) => !isTerraformVariable(each) || !replaced.has(each.key));
  return [
    ...remaining,
    ...runVariables.map(({ key, value }) => ({
      key,
      value,
      category: "terraform" as const,
      hcl: true,
      sensitive: false,
      priority: false,
    })),
  ];
}
