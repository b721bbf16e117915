/** Operations on state versions: load → authorize → decide → write. */
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { ContentAnswer } from "../../../jsonapi/define.ts";
import { notFound } from "../../../kernel/errors.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { BackingDataAction } from "../../shared/backing-data.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { deleteResources } from "../resources/writes.ts";
import { deleteOutputs } from "../state-version-outputs/writes.ts";
import { authorizeWorkspace, loadWorkspaceAfterLeaseExpiry } from "../../register/workspaces/reads.ts";
import { hasLeaseExpired } from "../../register/workspaces/lock-holder.ts";
import { abandonContents, findContent, readContent } from "../../shared/contents/contents.ts";
import { stateVersions, type StateVersionView } from "./definition.ts";
import { type StateContentKind, stateVersionOwner } from "./kinds.ts";
import { checkWriteAccess, createStateVersion } from "./arrival/creation.ts";
import { authorizeStateVersion, loadStateVersion } from "./reads.ts";
import { backingDataTransitions, backingDataObstacle } from "./rules.ts";
import { findCurrentStateVersion, pageOfVersions, updateStateVersion } from "./store.ts";
import { receiveJsonState, receiveState } from "./arrival/upload.ts";
import { rollBack } from "./arrival/rollback.ts";
import { checkUploadUrl } from "./arrival/upload-urls.ts";

export const stateVersionResource = implement(
  stateVersions,
  {
    async listStateVersions({ context, query }) {
      const reference = {
        organizationName: query.filterOrganizationName ?? "",
        workspaceName: query.filterWorkspaceName ?? "",
      };
      return list(context, reference, { page: query.page, status: query.filterStatus });
    },
    listWorkspaceStateVersions: ({ context, params, query }) =>
      list(context, params, { page: query.page, status: query.filterStatus }),

    createStateVersion: ({ context, params, body }) => createStateVersion(context, params.workspaceId, body),

    rollBackState: ({ context, params, body }) =>
      rollBack(context, params.workspaceId, body.data.relationships["rollback-state-version"].data.id),

    async showCurrentStateVersion({ context, params, query }) {
      const tx = context.database.reader;
      const version = await loadCurrent(context, params.workspaceId);
      const view = authorizeStateVersion(version, "can-read-state-versions");
      return { view, included: await loadIncluded(tx, context, stateVersions, [view], query.include, canInclude) };
    },

    async showStateVersion({ context, params, query }) {
      const tx = context.database.reader;
      const view = await loadStateVersion(tx, context, params.stateVersionId);
      return { view, included: await loadIncluded(tx, context, stateVersions, [view], query.include, canInclude) };
    },

    downloadState: ({ context, params }) => download(context, params.stateVersionId, "state"),
    downloadJsonState: ({ context, params }) => download(context, params.stateVersionId, "json"),

    async uploadState({ context, params, query, body }) {
      await receiveState(context, checkUploadUrl(context, params.stateVersionId, "state", query), body);
    },
    async uploadJsonState({ context, params, query, body }) {
      await receiveJsonState(context, checkUploadUrl(context, params.stateVersionId, "json", query), body);
    },

    softDeleteBackingData: ({ context, params }) => changeBackingData(context, params.stateVersionId, "soft-delete"),
    restoreBackingData: ({ context, params }) => changeBackingData(context, params.stateVersionId, "restore"),
    permanentlyDeleteBackingData: ({ context, params }) =>
      changeBackingData(context, params.stateVersionId, "permanently-delete"),
  },
  { createStateVersion: checkWriteAccess },
);

async function list(
  context: Context,
  reference: Parameters<typeof loadWorkspaceAfterLeaseExpiry>[1],
  search: Parameters<typeof pageOfVersions>[3],
) {
  const workspace = authorizeWorkspace(
    await loadWorkspaceAfterLeaseExpiry(context, reference),
    "can-read-state-versions",
  );
  return pageOfVersions(context.database.reader, context, workspace, search);
}

/** An expired lease can make another version the current one. Throws `not-found`. */
async function loadCurrent(context: Context, workspaceId: string): Promise<StateVersionView> {
  const find = () => findCurrentStateVersion(context.database.reader, context, workspaceId);
  let version = await find();
  if (version === undefined || hasLeaseExpired(version)) {
    await loadWorkspaceAfterLeaseExpiry(context, { workspaceId });
    version = await find();
  }
  if (version === undefined) throw notFound("state version");
  return version;
}

const canInclude = (view: StateVersionView, name: string): boolean => {
  if (name === "outputs") return view.status === "finalized";
  // A run that can only read the shared state must not see who wrote it.
  return name !== "created_by" || workspacePermissions(view)["can-read-run"];
};

async function download(context: Context, id: string, kind: StateContentKind): Promise<ContentAnswer> {
  const tx = context.database.reader;
  const version = await loadStateVersion(tx, context, id);
  const content = version.status === "finalized" ? await findContent(tx, stateVersionOwner(id), kind) : undefined;
  if (content === undefined) throw notFound("content");
  return { size: content.size, bytes: readContent(context, content) };
}

/** Throws `conflict` if the status of the content does not allow the action. */
async function changeBackingData(context: Context, id: string, action: BackingDataAction): Promise<void> {
  if (context.options.edition === "hosted") throw notFound("path");
  await context.database.write(async (tx) => {
    const version = authorizeStateVersion(await loadStateVersion(tx, context, id, true), "can-update");
    const obstacle = backingDataObstacle(action, version);
    if (obstacle !== undefined) throw obstacle;
    const { to } = backingDataTransitions[action];
    const isPermanent = action === "permanently-delete";
    await updateStateVersion(tx, version, { status: to, ...(isPermanent && { outputIds: "", hasJson: 0 }) });
    if (isPermanent) {
      await abandonContents(tx, stateVersionOwner(id));
      await deleteOutputs(tx, version, id);
      await deleteResources(tx, version, id);
    }
    await recordEvent(tx, context, {
      organizationId: version.organizationId,
      verb: `${action}-backing-data`,
      subject: { type: stateVersions.type, id },
      before: { serial: version.serial, status: version.status },
      after: { serial: version.serial, status: to },
    });
  });
}
