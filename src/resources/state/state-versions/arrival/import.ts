/** Imports state versions in order. It announces a version before it sends the content, so that an import can resume. */
import { type Granted, withProofOf } from "../../../../access/granted.ts";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import { conflict, notFound } from "../../../../kernel/errors.ts";
import { newId } from "../../../../kernel/ids.ts";
import { authorizeWorkspace, loadWorkspace } from "../../../register/workspaces/reads.ts";
import { lockHolderName } from "../../../register/workspaces/lock-holder.ts";
import type { WorkspaceView } from "../../../register/workspaces/view.ts";
import { setImportedState } from "../../../register/workspaces/writes.ts";
import { recordEvent } from "../../../shared/audit-events/writes.ts";
import type { Context } from "../../../shared/context.ts";
import {
  completeContent,
  discardUpload,
  receiveContent,
  type StoredContent,
} from "../../../shared/contents/contents.ts";
import { insertResources } from "../../resources/writes.ts";
import { insertOutputs } from "../../state-version-outputs/writes.ts";
import { stateVersionOwner, stateLimit } from "../kinds.ts";
import { unparsedColumns } from "../rules.ts";
import { findInWorkspace, findSuccession, insertStateVersion, updateStateVersion } from "../store.ts";
import { findPreviousVersion } from "../reads.ts";
import { StateParser, type ParsedState, rowsFromState } from "./parsing.ts";

export interface ImportedState {
  readonly serial: number;
  /** Null to use the lineage in the content. */
  readonly lineage: string | null;
  readonly createdAt: string;
  readonly author: { readonly userId: string | null; readonly name: string };
  readonly runId: string | null;
  /** The version that was imported before. */
  readonly after: string | undefined;
}

type ImportTarget = Granted<WorkspaceView, "can-create-state-versions">;

/** `recordProgress` runs in the same transaction. Throws `conflict` if the workspace is in use. */
export async function announceImportedState(
  context: Context,
  workspaceId: string,
  state: ImportedState,
  recordProgress: (tx: Tx, id: string) => Promise<void>,
): Promise<string> {
  const id = newId("state-versions");
  await context.database.write(async (tx) => {
    const workspace = await loadImportTarget(tx, context, workspaceId);
    const { position, latest } = await findSuccession(tx, workspace.id);
    if (latest?.id !== state.after) throw otherStatesConflict();
    await insertStateVersion(tx, workspace, rowFor(id, position, workspace, state));
    await record(tx, context, workspace, { id, verb: "announce", after: { serial: state.serial } });
    await recordProgress(tx, id);
  });
  return id;
}

/** Throws `conflict` if the workspace is in use, and `invalid` for content that is not a state. */
export async function receiveImportedState(
  context: Context,
  workspaceId: string,
  id: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { organizationId } = await loadImportTarget(context.database.reader, context, workspaceId);
  const parser = new StateParser();
  const location = { organizationId, owner: stateVersionOwner(id), kind: "state" };
  const content = await receiveContent(context, location, bytes, (piece) => parser.write(piece), stateLimit);
  try {
    const parsed = parser.end();
    await context.database.write((tx) => finalize(tx, context, workspaceId, id, content, parsed));
  } catch (error) {
    await discardUpload(context, content);
    throw error;
  }
}

/** Call it if the content can't be imported, so that other versions can follow the previous one. */
export async function discardImportedState(context: Context, workspaceId: string, id: string): Promise<void> {
  await context.database.write(async (tx) => {
    const workspace = await loadImportTarget(tx, context, workspaceId);
    const version = await findInWorkspace(tx, workspace, id);
    if (version?.status !== "pending") return;
    await updateStateVersion(tx, version, { status: "discarded" });
    await record(tx, context, workspace, { id, verb: "discard", after: { status: "discarded" } });
  });
}

async function finalize(
  tx: Tx,
  context: Context,
  workspaceId: string,
  id: string,
  content: StoredContent,
  parsed: ParsedState,
): Promise<void> {
  const workspace = await loadImportTarget(tx, context, workspaceId);
  const version = await findInWorkspace(tx, workspace, id);
  if (version === undefined) throw notFound("state version");
  const { latest } = await findSuccession(tx, workspace.id);
  if (version.status !== "pending" || latest?.id !== id) throw otherStatesConflict();
  const predecessor = await findPreviousVersion(tx, version);
  const rows = rowsFromState(context.vault, version, parsed);
  await updateStateVersion(tx, version, {
    ...rows.columns,
    lineage: version.lineage || parsed.file.lineage,
    md5: content.md5,
    status: "finalized",
    size: content.size,
  });
  await completeContent(tx, content);
  await insertOutputs(tx, workspace, rows.outputs);
  await insertResources(tx, workspace, rows.resources, predecessor?.id);
  const before = workspace.currentStateVersionId;
  if (before !== null)
    await updateStateVersion(tx, withProofOf(workspace, { id: before, workspaceId }), { superseded: 1 });
  const { resourceCount, outputIds, encrypted: stateEncrypted } = rows.columns;
  await setImportedState(tx, workspace, workspace.id, {
    currentStateVersionId: id,
    resourceCount,
    outputIds,
    stateEncrypted,
    latestChangeAt: version.createdAt,
  });
  await record(tx, context, workspace, { id, verb: "import", after: { serial: version.serial, size: content.size } });
}

/** Locks the workspace in a transaction. Throws `not-found`, `forbidden`, and `conflict` for a locked workspace. */
async function loadImportTarget(tx: Tx, context: Context, workspaceId: string): Promise<ImportTarget> {
  const lock = tx !== context.database.reader && "change";
  const visible = await loadWorkspace(tx, context, { workspaceId }, lock);
  const workspace = authorizeWorkspace(visible, "can-create-state-versions");
  if (workspace.lockedByType !== null)
    throw conflict(`The destination workspace is locked by ${lockHolderName(workspace)}. Unlock it and import again.`);
  return workspace;
}

const otherStatesConflict = () =>
  conflict(
    "The destination workspace has state versions that were not imported. The remaining state versions of the source can't be imported into it.",
  );

function rowFor(
  id: string,
  position: number,
  { id: workspaceId, organizationId }: ImportTarget,
  { serial, lineage, createdAt, author, runId }: ImportedState,
): StateVersionTable {
  return {
    ...unparsedColumns,
    id,
    organizationId,
    workspaceId,
    position,
    serial,
    lineage,
    createdAt,
    runId,
    md5: "",
    status: "pending",
    intermediate: 0,
    uploadExpiresAt: null,
    size: 0,
    superseded: 0,
    hasJson: 0,
    // Stored as a run, so that documents show no user.
    createdByKind: author.userId === null ? "run" : "user",
    createdById: author.userId ?? runId ?? "",
    createdByName: author.name,
    createdByTokenId: null,
    version: 1,
  };
}

async function record(
  tx: Tx,
  context: Context,
  { organizationId }: ImportTarget,
  { id, verb, after }: { readonly id: string; readonly verb: string; readonly after: object },
): Promise<void> {
  await recordEvent(tx, context, { organizationId, verb, subject: { type: "state-versions", id }, after });
}
