/** Operations on configuration versions: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { ContentAnswer, IncludedResource } from "../../../jsonapi/define.ts";
import { notFound } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { setCurrentConfiguration } from "../../register/workspaces/writes.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import type { BackingDataAction } from "../../shared/backing-data.ts";
import { abandonContents, findContent, readContent } from "../../shared/contents/contents.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { configurationVersions, type ConfigurationVersionView } from "./definition.ts";
import { ingressAttributes } from "./ingress.ts";
import { authorizeConfigurationVersion, loadConfigurationOfRun, loadConfigurationVersion } from "./reads.ts";
import {
  archiveObstacle,
  backingDataTransitions,
  backingDataObstacle,
  becomesCurrent,
  newConfigurationVersion,
  ofConfigurationVersion,
  columnsForConfigurationStatus,
} from "./rules.ts";
import {
  hasRunInProgress,
  insertConfigurationVersion,
  toConfigurationView,
  latestRunIds,
  nextPosition,
  pageOfVersions,
  updateConfigurationVersion,
} from "./store.ts";
import { receiveArchive } from "./upload.ts";
import { checkUploadUrl, uploadUrl } from "./upload-urls.ts";
import { recordStatusChange } from "./writes.ts";

export const configurationVersionResource = implement(configurationVersions, {
  async listConfigurationVersions({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, params), "can-read-run");
    const { views, totalCount } = await pageOfVersions(tx, workspace, query.page);
    return { ...(await withIncluded(tx, context, views, query.include)), totalCount };
  },

  async createConfigurationVersion({ context, params, body }) {
    const view = await context.database.write(async (tx) => {
      const workspace = authorizeWorkspace(await loadWorkspace(tx, context, params, "change"), "can-queue-run");
      const facts = { workspace, position: await nextPosition(tx, workspace.id), createdAt: now() };
      const row = newConfigurationVersion(body?.attributes ?? {}, facts, context);
      await insertConfigurationVersion(tx, workspace, row);
      // Without a current configuration, the awaited one is shown as current.
      if (workspace.currentConfigurationVersionId === null && becomesCurrent(row))
        await setCurrentConfiguration(tx, workspace, workspace.id, { id: row.id, hasReadme: 0 });
      const created = toConfigurationView(row, workspace);
      await recordChange(
        tx,
        context,
        configurationVersions,
        { after: created },
        { after: { workspace: workspace.id } },
      );
      return { ...created, uploadUrl: uploadUrl(context, row) };
    });
    return { view };
  },

  showConfigurationVersion: ({ context, params, query }) =>
    showVersion(context, (tx) => loadConfigurationVersion(tx, context, params.configurationVersionId), query.include),
  showConfigurationVersionOfRun: ({ context, params, query }) =>
    showVersion(context, (tx) => loadConfigurationOfRun(tx, context, params.runId), query.include),

  downloadConfiguration: ({ context, params }) =>
    download(context, (tx) => loadConfigurationVersion(tx, context, params.configurationVersionId)),
  downloadConfigurationOfRun: ({ context, params }) =>
    download(context, (tx) => loadConfigurationOfRun(tx, context, params.runId)),

  async uploadConfiguration({ context, params, query, body }) {
    const id = params.configurationVersionId;
    await receiveArchive(context, checkUploadUrl(context, id, query), id, body);
  },

  async archiveConfigurationVersion({ context, params }) {
    const id = params.configurationVersionId;
    await context.database.write(async (tx) => {
      const found = await loadConfigurationVersion(tx, context, id, true);
      const version = authorizeConfigurationVersion(found, "can-queue-run");
      const obstacle = archiveObstacle(version, await hasRunInProgress(tx, id));
      if (obstacle !== undefined) throw obstacle;
      const columns = columnsForConfigurationStatus(version, "archived", { "archived-at": now() });
      await updateConfigurationVersion(tx, version, id, { ...columns, hasReadme: 0 });
      await abandonContents(tx, ofConfigurationVersion(id));
      await recordStatusChange(tx, context, version, "archive", "archived");
    });
  },

  softDeleteConfigurationBackingData: ({ context, params }) =>
    changeBackingData(context, params.configurationVersionId, "soft-delete"),
  restoreConfigurationBackingData: ({ context, params }) =>
    changeBackingData(context, params.configurationVersionId, "restore"),
  permanentlyDeleteConfigurationBackingData: ({ context, params }) =>
    changeBackingData(context, params.configurationVersionId, "permanently-delete"),
});

export const ingressAttributesResource = implement(ingressAttributes, {
  async showIngressAttributes({ context, params }) {
    const version = await loadConfigurationVersion(context.database.reader, context, params.configurationVersionId);
    if (version.ingressId === null) throw notFound("commit of this configuration version");
    return { view: version };
  },
});

type ConfigurationLoader = (tx: Tx) => Promise<ConfigurationVersionView>;

async function showVersion(context: Context, load: ConfigurationLoader, include: ReadonlySet<string>) {
  const tx = context.database.reader;
  const { views, included } = await withIncluded(tx, context, [await load(tx)], include);
  const [view] = views;
  if (view === undefined) throw notFound("configuration version");
  return { view, ...(included && { included }) };
}

async function withIncluded(
  tx: Tx,
  context: Context,
  versions: readonly ConfigurationVersionView[],
  include: ReadonlySet<string>,
): Promise<{ views: readonly ConfigurationVersionView[]; included: IncludedResource[] | undefined }> {
  if (!include.has("run") || versions.length === 0)
    return { views: versions, included: await loadIncluded(tx, context, configurationVersions, versions, include) };
  const runIds = await latestRunIds(
    tx,
    versions.map(({ id }) => id),
  );
  const views = versions.map((view) => ({ ...view, runId: runIds.get(view.id) ?? null }));
  return { views, included: await loadIncluded(tx, context, configurationVersions, views, include) };
}

async function download(context: Context, load: ConfigurationLoader): Promise<ContentAnswer> {
  const tx = context.database.reader;
  const version = await load(tx);
  const content =
    version.status === "uploaded" ? await findContent(tx, ofConfigurationVersion(version.id), "archive") : undefined;
  if (content === undefined) throw notFound("configuration");
  return { size: content.size, bytes: readContent(context, content) };
}

async function changeBackingData(context: Context, id: string, action: BackingDataAction): Promise<void> {
  if (context.options.edition === "hosted") throw notFound("path");
  await context.database.write(async (tx) => {
    const version = authorizeConfigurationVersion(await loadConfigurationVersion(tx, context, id, true), "can-update");
    const obstacle = backingDataObstacle(action, version, await hasRunInProgress(tx, id));
    if (obstacle !== undefined) throw obstacle;
    const { to } = backingDataTransitions[action];
    await updateConfigurationVersion(tx, version, id, { status: to });
    if (action === "permanently-delete") await abandonContents(tx, ofConfigurationVersion(id));
    await recordStatusChange(tx, context, version, `${action}-backing-data`, to);
  });
}
