/** Helpers for scenarios of remote runs, executed by the server's workers or by an agent. */
import { inCloud } from "./cli-scenario.ts";
import { type Folder, organization, type Site } from "./cli-site.ts";

/** Who executes runs: the server's workers, or an agent of a pool. */
export type Mode = "remote" | "agent";

interface WorkspaceOptions {
  readonly attributes?: object;
  readonly block?: typeof inCloud;
}

/** Creates a workspace in this mode with the CLI's version, and an initialized directory for it. */
export async function executedBy(
  mode: Mode,
  site: Site,
  name: string,
  configuration: string,
  { attributes = {}, block = inCloud }: WorkspaceOptions = {},
): Promise<Folder> {
  const pool = mode === "agent" ? { "agent-pool-id": await site.servedPool() } : {};
  await site.makeWorkspace(name, { "execution-mode": mode, ...pool, ...attributes });
  const folder = site.folder({ "main.tf": block(site, { name }) + configuration });
  await folder.succeed(["init", "-input=false"]);
  return folder;
}

export const currentRun = async (site: Site, name: string) => {
  const { body } = await site.api(`/organizations/${organization}/workspaces/${name}?include=current_run`);
  return body.included?.find(({ type }: { type: string }) => type === "runs");
};
export const statusOf = async (site: Site, name: string) => (await currentRun(site, name))?.attributes.status;
export const isFree = async (site: Site, name: string) => (await site.workspace(name)).attributes["locked"] === false;
export const resourcesOf = async (site: Site, name: string) =>
  (await site.workspace(name)).attributes["resource-count"] as number;
