/** Loads configuration versions, and checks permissions on their workspace. */
import type { Granted } from "../../../access/granted.ts";
import type { WorkspacePermission } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import type { LoadMany } from "../../shared/includes.ts";
import type { ConfigurationVersionView } from "./definition.ts";
import type { IngressView } from "./ingress.ts";
import {
  type ConfiguredParent,
  findConfigurationOfRun,
  findConfigurationVersion,
  findVersions,
  toConfigurationView,
} from "./store.ts";

export async function loadConfigurationVersion(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock = false,
): Promise<Granted<ConfigurationVersionView, "can-read-run">> {
  return authorizeReading(await findConfigurationVersion(tx, context, id, lock));
}

export async function loadConfigurationOfRun(
  tx: Tx,
  context: Pick<Context, "actor">,
  runId: string,
): Promise<Granted<ConfigurationVersionView, "can-read-run">> {
  return authorizeReading(await findConfigurationOfRun(tx, context, runId));
}

function authorizeReading(
  version: ConfigurationVersionView | undefined,
): Granted<ConfigurationVersionView, "can-read-run"> {
  if (version === undefined) throw notFound("configuration version");
  return authorizeConfigurationVersion(version, "can-read-run");
}

export const authorizeConfigurationVersion = <Permission extends WorkspacePermission>(
  version: ConfigurationVersionView,
  permission: Permission,
): Granted<ConfigurationVersionView, Permission> => authorizeOnWorkspace("configuration version", version, permission);

export const includedConfigurations: LoadMany<ConfiguredParent> = async (tx, _context, ids, parents) => {
  const [first] = parents.values();
  if (first === undefined) return [];
  const rows = await findVersions(tx, first.organizationId, ids);
  return rows.flatMap((row) => {
    const parent = parents.get(row.id);
    return parent === undefined ? [] : [toConfigurationView(row, parent)];
  });
};

export const includedCommits: LoadMany<IngressView> = (_tx, _context, _ids, versions) =>
  Promise.resolve([...versions.values()]);
