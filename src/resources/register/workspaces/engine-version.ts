/** The engine version of a new workspace that doesn't name one: the newest that can be executed. */
import type { Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { Context } from "../../shared/context.ts";
import { newestExecutable, newestRelease } from "../../site/terraform-versions/reads.ts";
import { agentPoolOf, executionModeOf } from "./view.ts";

type NewWorkspaceExecution = Pick<WorkspaceTable, "organizationId" | "engine"> & Parameters<typeof agentPoolOf>[0];

export async function defaultEngineVersion(
  tx: Tx,
  { hooks, options }: Pick<Context, "hooks" | "options">,
  workspace: NewWorkspaceExecution,
): Promise<string> {
  const mode = executionModeOf(workspace);
  if (mode === "local") return newestRelease(tx);
  const engine = workspace.engine ?? options.engine ?? "terraform";
  const { organizationId } = workspace;
  const agentPoolId = mode === "agent" ? agentPoolOf(workspace) : null;
  const offers = await hooks.runs.engineOffers(tx, engine, { organizationId, agentPoolId });
  return (await newestExecutable(tx, engine, offers)) ?? newestRelease(tx);
}
