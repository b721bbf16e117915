/**
 * The variables of a run are those of the moment in which its turn came: what is changed later is for later runs. Those that are sensitive stay
 * with it, to be masked: see docs/decisions/0169-a-run-keeps-what-is-masked-in-its-plan.md.
 */
import type { Tx } from "../../../database/database.ts";
import { type EffectiveVariable, effectiveVariables } from "../../variables/vars/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { RunInPlace } from "./view.ts";

const ownerOf = (runId: string): string => `runs/${runId}/pinned_variables`;

/** All that is in force in its workspace, sealed. One statement. */
export async function pinned(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  run: Pick<RunInPlace, "id" | "organizationId" | "workspaceId" | "projectId">,
): Promise<Uint8Array> {
  const { id, organizationId, workspaceId, projectId } = run;
  const inForce = await effectiveVariables(tx, vault, { id: workspaceId, organizationId, projectId });
  return vault.seal(ownerOf(id), Buffer.from(JSON.stringify(inForce)));
}

/**
 * What is left of them when the run ends: the sensitive ones, which are masked in its plan for as long as that can be read. None where
 * nothing is to be masked.
 */
export function pinnedSecrets(
  { vault }: Pick<Context, "vault">,
  run: Pick<RunInPlace, "id" | "pinnedVariables">,
): Uint8Array | null {
  const secrets = pinnedVariables({ vault }, run).filter(({ sensitive }) => sensitive);
  return secrets.length === 0 ? null : vault.seal(ownerOf(run.id), Buffer.from(JSON.stringify(secrets)));
}

/** What was pinned, for the agent that executes the run; once it has ended, only what is sensitive. */
export function pinnedVariables(
  { vault }: Pick<Context, "vault">,
  { id, pinnedVariables }: Pick<RunInPlace, "id" | "pinnedVariables">,
): readonly EffectiveVariable[] {
  if (pinnedVariables === null) return [];
  return JSON.parse(Buffer.from(vault.open(ownerOf(id), pinnedVariables)).toString()) as EffectiveVariable[];
}
