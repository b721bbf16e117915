/** Reads of outputs for other resources. */
import type { Tx } from "../../../database/database.ts";
import type { StateVersionOutputTable } from "../../../database/schema/state.ts";
import type { Context } from "../../shared/context.ts";
import type { LoadMany } from "../../shared/includes.ts";
import type { StateVersionOutputView } from "./definition.ts";
import { findOutputs } from "./store.ts";
import { decryptOutputValue } from "./values.ts";

/** Omits sensitive values. The caller must be able to read the versions. */
export async function outputsOfVersions(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  { organizationId }: { readonly organizationId: string },
  stateVersionIds: readonly string[],
): Promise<StateVersionOutputView[]> {
  const rows = await findOutputs(tx, organizationId, stateVersionIds);
  return rows.map((row) => toOutputView({ vault }, row, false));
}

export const loadOutputsOfStateVersions: LoadMany<{ readonly id: string; readonly organizationId: string }> = (
  tx,
  context,
  _ids,
  versionsByOutput,
) => outputsOf(tx, context, [...versionsByOutput.values()], ({ id }) => id);

export const loadOutputsOfWorkspaces: LoadMany<{
  readonly organizationId: string;
  readonly currentStateVersionId: string | null;
}> = (tx, context, _ids, workspacesByOutput) =>
  outputsOf(tx, context, [...workspacesByOutput.values()], (workspace) => workspace.currentStateVersionId ?? "");

function outputsOf<Parent extends { readonly organizationId: string }>(
  tx: Tx,
  context: Context,
  parents: readonly Parent[],
  versionOf: (parent: Parent) => string,
): Promise<StateVersionOutputView[]> {
  const [first] = parents;
  return first === undefined
    ? Promise.resolve([])
    : outputsOfVersions(tx, context, first, [...new Set(parents.map(versionOf))]);
}

export function toOutputView(
  { vault }: Pick<Context, "vault">,
  row: StateVersionOutputTable,
  showsSensitive: boolean,
): StateVersionOutputView {
  const shown = showsSensitive || row.sensitive === 0;
  return { ...row, value: shown ? decryptOutputValue(vault, row.id, row.value) : null };
}
