/** How a configuration version is loaded and granted, by what its workspace allows; and what neighbours show of them. */
import type { Granted } from "../../../access/granted.ts";
import type { WorkspaceFacts, WorkspacePermission } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { ConfiguredWorkspace } from "../../shared/neighbours.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { configurationVersions, type ConfigurationVersionView } from "./definition.ts";
import { ingressAttributes } from "./ingress.ts";
import { findConfigurationOfRun, findConfigurationVersion, findVersions, inWorkspace } from "./store.ts";

/** Raises `not-found`. */
export async function loadConfigurationVersion(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock = false,
): Promise<Granted<ConfigurationVersionView, "can-read-run">> {
  return granted(await findConfigurationVersion(tx, context, id, lock));
}

/** By what the caller holds on the run's workspace. Raises `not-found`. */
export async function loadConfigurationOfRun(
  tx: Tx,
  context: Pick<Context, "actor">,
  runId: string,
): Promise<Granted<ConfigurationVersionView, "can-read-run">> {
  return granted(await findConfigurationOfRun(tx, context, runId));
}

function granted(version: ConfigurationVersionView | undefined): Granted<ConfigurationVersionView, "can-read-run"> {
  if (version === undefined) throw notFound("configuration version");
  return grantConfigurationVersion(version, "can-read-run");
}

/** Raises `forbidden`, or `not-found` where the caller may not see the workspace. */
export const grantConfigurationVersion = <Permission extends WorkspacePermission>(
  version: ConfigurationVersionView,
  permission: Permission,
): Granted<ConfigurationVersionView, Permission> => grantOnWorkspace("configuration version", version, permission);

/** The commits of those that come from one. */
export const includedIngress = (versions: readonly ConfigurationVersionView[]): Included[] =>
  versions.filter(({ ingressId }) => ingressId !== null).map((view) => ({ definition: ingressAttributes, view }));

type Place = Omit<ConfiguredWorkspace, "organizationId">;

/** Configurations by their ids, each of which the caller may read by what it holds there; with their commits, if asked for. */
async function configurationsIn(
  tx: Tx,
  organizationId: string,
  places: ReadonlyMap<string, Place>,
  withCommits: boolean,
): Promise<Included[]> {
  if (places.size === 0) return [];
  const rows = await findVersions(tx, organizationId, [...places.keys()]);
  const views = rows.flatMap((row) => {
    const place = places.get(row.id);
    return place === undefined ? [] : [inWorkspace(row, place)];
  });
  const versions = views.map((view) => ({ definition: configurationVersions, view }));
  return withCommits ? [...versions, ...includedIngress(views)] : versions;
}

/** The configurations of runs that the caller may read, also those of other workspaces. */
export async function configurationsOfRuns(
  tx: Tx,
  runs: readonly (WorkspaceFacts & Pick<RunTable, "organizationId" | "configurationVersionId">)[],
  withCommits: boolean,
): Promise<Included[]> {
  const places = new Map<string, Place>();
  for (const run of runs)
    if (run.configurationVersionId !== null)
      places.set(run.configurationVersionId, { ...run, currentConfigurationVersionId: null });
  return configurationsIn(tx, runs[0]?.organizationId ?? "", places, withCommits);
}

/** The current configurations of workspaces that the caller may see; with their commits where those are asked for. */
export async function currentConfigurations(
  tx: Tx,
  workspaces: readonly ConfiguredWorkspace[],
  withCommits: boolean,
): Promise<Included[]> {
  const places = new Map(workspaces.map((workspace) => [workspace.currentConfigurationVersionId ?? "", workspace]));
  places.delete("");
  return configurationsIn(tx, workspaces[0]?.organizationId ?? "", places, withCommits);
}
