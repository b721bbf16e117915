/** A run's encrypted variables, and the snapshot of its workspace's taken at admission. See docs/runs.md#variables. */
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import type { Context } from "../../shared/context.ts";
import { type EffectiveVariable, effectiveVariables } from "../../variables/vars/reads.ts";
import type { LoadedRun, RunView } from "./view.ts";

type VaultContext = Pick<Context, "vault">;
type RunVariables = RunView["shownVariables"];

const ownOwner = (runId: string): string => `runs/${runId}/variables`;
const snapshotOwner = (runId: string): string => `runs/${runId}/pinned_variables`;

export const sealRunVariables = ({ vault }: VaultContext, runId: string, variables: RunVariables): Uint8Array =>
  vault.seal(ownOwner(runId), Buffer.from(JSON.stringify(variables)));

export function openRunVariables(
  { vault }: VaultContext,
  { id, variables }: Pick<RunTable, "id" | "variables">,
): RunVariables {
  if (variables === null) return [];
  return JSON.parse(Buffer.from(vault.open(ownOwner(id), variables)).toString()) as RunVariables;
}

export async function variableSnapshot(
  tx: Tx,
  { vault }: VaultContext,
  { id, organizationId, workspaceId, projectId }: LoadedRun,
): Promise<Uint8Array> {
  const effective = await effectiveVariables(tx, vault, { id: workspaceId, organizationId, projectId });
  return vault.seal(snapshotOwner(id), Buffer.from(JSON.stringify(effective)));
}

/** Kept after the run ends, to mask its plan. */
export function sensitiveSnapshot(
  context: VaultContext,
  run: Pick<RunTable, "id" | "pinnedVariables">,
): Uint8Array | null {
  const secrets = openVariableSnapshot(context, run).filter(({ sensitive }) => sensitive);
  return secrets.length === 0 ? null : context.vault.seal(snapshotOwner(run.id), Buffer.from(JSON.stringify(secrets)));
}

/** Once the run has ended, only its sensitive variables. */
export function openVariableSnapshot(
  { vault }: VaultContext,
  { id, pinnedVariables }: Pick<RunTable, "id" | "pinnedVariables">,
): readonly EffectiveVariable[] {
  if (pinnedVariables === null) return [];
  return JSON.parse(Buffer.from(vault.open(snapshotOwner(id), pinnedVariables)).toString()) as EffectiveVariable[];
}
