/** The engine version of a new workspace that doesn't name one: the newest that can be executed. */
import type { Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { Context } from "../../shared/context.ts";
import type { EngineOffers } from "../../shared/hooks.ts";
import { newestExecutable, newestRelease } from "../../site/terraform-versions/reads.ts";
import { agentPoolOf, executionModeOf } from "./view.ts";

type NewWorkspaceExecution = Pick<WorkspaceTable, "organizationId" | "engine"> & Parameters<typeof agentPoolOf>[0];

interface SentExecution {
  readonly engine?: string | null | undefined;
  readonly engineVersion?: string | undefined;
  readonly executionMode?: string | undefined;
}

/** Offers of the site's agents, which execute most workspaces. They can be read before the project, which decides whether they apply. */
export async function likelyEngineOffers(
  tx: Tx,
  { hooks, options }: Pick<Context, "hooks" | "options">,
  { engine = null, engineVersion, executionMode = "remote" }: SentExecution,
): Promise<EngineOffers | undefined> {
  if (engineVersion !== undefined || executionMode !== "remote") return undefined;
  return hooks.runs.engineOffers(tx, engineOf({ engine }, options), null);
}

/** `siteOffers`: the result of `likelyEngineOffers`. */
export async function defaultEngineVersion(
  tx: Tx,
  { hooks, options }: Pick<Context, "hooks" | "options">,
  workspace: NewWorkspaceExecution,
  siteOffers: EngineOffers | undefined,
): Promise<string> {
  const mode = executionModeOf(workspace);
  if (mode === "local") return newestRelease(tx);
  const engine = engineOf(workspace, options);
  const { organizationId } = workspace;
  const agentPoolId = mode === "agent" ? agentPoolOf(workspace) : null;
  const pool = agentPoolId === null ? null : { organizationId, agentPoolId };
  const offers = (pool === null ? siteOffers : undefined) ?? (await hooks.runs.engineOffers(tx, engine, pool));
  return (await newestExecutable(tx, engine, offers)) ?? newestRelease(tx);
}

const engineOf = ({ engine }: Pick<WorkspaceTable, "engine">, options: Context["options"]): string =>
  engine ?? options.engine ?? "terraform";
