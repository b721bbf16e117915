/** Creates a state version, with its content in the request or uploaded later to a signed URL. */
import { setImmediate } from "node:timers/promises";
import type { Granted } from "../../../../access/granted.ts";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import type { CreateAttributes, DocumentAnswer } from "../../../../jsonapi/define.ts";
import { conflict, throwIfInvalid } from "../../../../kernel/errors.ts";
import { newId } from "../../../../kernel/ids.ts";
import { now } from "../../../../kernel/time.ts";
import { authorizeWorkspace, loadWorkspace } from "../../../register/workspaces/reads.ts";
import { holdsLock, lockHolderName } from "../../../register/workspaces/lock-holder.ts";
import type { WorkspaceView } from "../../../register/workspaces/view.ts";
import { recordChange } from "../../../shared/audit-events/writes.ts";
import type { Context } from "../../../shared/context.ts";
import {
  discardUpload,
  insertContents,
  type PreparedContent,
  storeContents,
} from "../../../shared/contents/contents.ts";
import { stateVersions, type StateVersionView } from "../definition.ts";
import { stateVersionOwner } from "../kinds.ts";
import { refuseTooLarge } from "../request.ts";
import { newStateVersion, runFaults, successionObstacle } from "../rules.ts";
import { findSuccession, insertStateVersion, stateVersionViewIn } from "../store.ts";
import { recordArrival } from "./record-arrival.ts";
import { StateParser, processingJob, type ParsedState, rowsFromState } from "./parsing.ts";

type StateVersionAttributes = CreateAttributes<typeof stateVersions>;
type StateVersionRelationships = { readonly run?: string | null | undefined };
type WritableWorkspace = Granted<WorkspaceView, "can-create-state-versions">;

/** Throws `too-large`, `invalid` for content that is not a state, and `conflict` without the lock or for a wrong serial or lineage. */
export async function createStateVersion(
  context: Context,
  workspaceId: string,
  {
    attributes,
    relationships,
  }: { readonly attributes: StateVersionAttributes; readonly relationships: StateVersionRelationships },
): Promise<DocumentAnswer<StateVersionView>> {
  refuseTooLarge(attributes);
  throwIfInvalid(runFaults(context.actor, relationships.run));
  const id = newId("state-versions");
  // Must not run in the transaction, which locks the workspace's row.
  const inline = await readInlineState(context, id, attributes);
  const create = async (tx: Tx) => {
    const workspace = await loadWritableWorkspace(tx, context, workspaceId, "change");
    const { position, previous, latest, predecessorId, hasPending } = await findSuccession(tx, workspace.id);
    const input = { id, position, workspace, contentLineage: inline?.parsed.file.lineage, createdAt: now() };
    const pendingVersion = newStateVersion(attributes, input, context.actor);
    const obstacle = attributes.force ? undefined : successionObstacle(latest, pendingVersion);
    if (obstacle !== undefined) throw obstacle;

    const rows = inline && rowsFromState(context.vault, pendingVersion, inline.parsed);
    const version: StateVersionTable = { ...pendingVersion, ...rows?.columns, ...contentColumns(inline?.contents) };
    await insertStateVersion(tx, workspace, version);
    if (inline !== undefined && rows !== undefined) {
      await insertContents(tx, workspace, inline.contents);
      await recordArrival(tx, context, workspace, { version, rows, predecessorId, hasPending });
    }
    const created = stateVersionViewIn({ ...version, ...previous }, workspace, context);
    await recordChange(tx, context, stateVersions, { after: created }, { after: { workspace: workspace.id } });
    return created;
  };
  let view: StateVersionView;
  try {
    view = await context.database.write(create);
  } catch (error) {
    for (const content of inline?.contents ?? []) if (content.place !== null) await discardUpload(context, content);
    throw error;
  }
  if (inline !== undefined && view.resourcesProcessed === 0) context.wake?.(processingJob);
  return { view };
}

/** Checks access before the server reads a large request body. */
export async function checkWriteAccess(request: {
  readonly context: Context;
  readonly params: { readonly workspaceId: string };
}): Promise<void> {
  const { context, params } = request;
  await loadWritableWorkspace(context.database.reader, context, params.workspaceId);
}

/** Throws `not-found`, `forbidden`, and `conflict` unless the caller holds the workspace's lock. */
export async function loadWritableWorkspace(
  tx: Tx,
  context: Context,
  workspaceId: string,
  lock: "change" | false = false,
): Promise<WritableWorkspace> {
  const visible = await loadWorkspace(tx, context, { workspaceId }, lock);
  const workspace = authorizeWorkspace(visible, "can-create-state-versions");
  if (workspace.lockedByType === null)
    throw conflict("Unable to write state. The workspace is not locked. Lock it first.");
  if (!holdsLock(context.actor, workspace))
    throw conflict(
      `Unable to write state. The workspace is locked by ${lockHolderName(workspace)}. Only the lock holder can write state until the workspace is unlocked.`,
    );
  return workspace;
}

interface InlineState {
  readonly parsed: ParsedState;
  readonly contents: readonly PreparedContent[];
}

const sliceBytes = 64 * 1024;

/** Throws `invalid` for content that is not a state. */
async function readInlineState(
  context: Context,
  stateVersionId: string,
  { state, jsonState }: StateVersionAttributes,
): Promise<InlineState | undefined> {
  if (state === undefined) return undefined;
  const parser = new StateParser();
  for (let start = 0; start < state.length; start += sliceBytes) {
    parser.write(state.subarray(start, start + sliceBytes));
    if (start + sliceBytes < state.length) await setImmediate();
  }
  const parsed = parser.end();
  const owner = stateVersionOwner(stateVersionId);
  const json = jsonState ? [{ kind: "json", bytes: jsonState }] : [];
  return { parsed, contents: await storeContents(context, owner, [{ kind: "state", bytes: state }, ...json]) };
}

function contentColumns(contents: readonly PreparedContent[] | undefined): Partial<StateVersionTable> {
  if (contents === undefined) return {};
  const [state, json] = contents;
  return { status: "finalized", size: state?.size ?? 0, hasJson: Number(json !== undefined), uploadExpiresAt: null };
}
