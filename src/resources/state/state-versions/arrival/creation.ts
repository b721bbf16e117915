/** A new state version: with its content in the request, or announced, to be sent to its upload URL. */
import { setImmediate } from "node:timers/promises";
import { actorId, actorName, tokenIdOf } from "../../../../access/actor.ts";
import type { Granted } from "../../../../access/granted.ts";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import type { CreateAttributes, DocumentAnswer } from "../../../../jsonapi/define.ts";
import { AppError, conflict } from "../../../../kernel/errors.ts";
import { newId } from "../../../../kernel/ids.ts";
import { now } from "../../../../kernel/time.ts";
import { recordChange } from "../../../shared/audit-events/writes.ts";
import type { Context } from "../../../shared/context.ts";
import { grantWorkspace, holdsLock, loadWorkspace, nameOfHolder } from "../../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../../register/workspaces/view.ts";
import { noteStateWritten } from "../../../register/workspaces/writes.ts";
import { insertContents, type PreparedContent } from "../contents/store.ts";
import { prepareContent } from "../contents/contents.ts";
import { inRequestBytesMax, stateVersions, type StateVersionView, tooLargeSentence } from "../definition.ts";
import { inlineBytesMax, insertRead, isInline, type ReadState, rowsOf, unread } from "./processing.ts";
import { successionObstacle } from "../rules.ts";
import { StateFileReader } from "../../../../statefile/state-file.ts";
import { discardVersions, findPredecessor, findSuccession, insertStateVersion, inWorkspace } from "../store.ts";
import { uploadLifetimeMs } from "./upload-urls.ts";
import { recordDiscarded } from "../writes.ts";

type Attributes = CreateAttributes<typeof stateVersions>;

interface CreateBody {
  readonly attributes: Attributes;
}

/** What the request brought, ready to be written. */
interface Brought {
  readonly contents: readonly PreparedContent[];
  readonly read: ReadState;
}

/** The job that reads large states. */
export const processingJob = "state-processing";

export async function createStateVersion(
  context: Context,
  workspaceId: string,
  { attributes }: CreateBody,
): Promise<DocumentAnswer<StateVersionView>> {
  refuseTooLarge(attributes);
  const id = newId("state-versions");
  const brought = await prepare(context, id, attributes);
  const answer = await context.database.write(async (tx) => {
    const workspace = grantWorkspace(
      await loadWorkspace(tx, context, { workspaceId }, true),
      "can-create-state-versions",
    );
    refuseWithoutLock(context, workspace);
    return write(tx, context, workspace, { id, attributes, brought });
  });
  if (brought !== undefined && answer.view.resourcesProcessed === 0) context.wake?.(processingJob);
  return answer;
}

interface Sender {
  readonly context: Context;
  readonly params: { readonly workspaceId: string };
}

/** Only who could write the state is let send one that is large. Raises what the creation itself would. */
export async function admitWriter({ context, params }: Sender): Promise<void> {
  const workspace = await loadWorkspace(context.database.reader, context, params);
  refuseWithoutLock(context, grantWorkspace(workspace, "can-create-state-versions"));
}

function refuseTooLarge({ state, jsonState }: Attributes): void {
  if (Math.max(state?.length ?? 0, jsonState?.length ?? 0) > inRequestBytesMax)
    throw new AppError("too-large", tooLargeSentence);
}

/** Raises `conflict` unless the caller holds the workspace's lock. */
function refuseWithoutLock({ actor }: Context, workspace: WorkspaceView): void {
  if (workspace.lockedByType === null)
    throw conflict("Unable to write state. The workspace is not locked; lock it first.");
  if (!holdsLock(actor, workspace))
    throw conflict(
      `Unable to write state. The workspace is locked by ${nameOfHolder(workspace)}, who alone may write state until it is unlocked.`,
    );
}

const sliceBytes = 64 * 1024;

/** Undefined where the content comes later. Raises `invalid` for what is no state. */
async function prepare(
  { vault }: Context,
  stateVersionId: string,
  { state, jsonState }: Attributes,
): Promise<Brought | undefined> {
  if (state === undefined) return undefined;
  const reader = new StateFileReader();
  if (state.length > inlineBytesMax) reader.stopListing();
  for (let start = 0; start < state.length; start += sliceBytes) {
    reader.write(state.subarray(start, start + sliceBytes));
    // Others have their turn.
    if (start + sliceBytes < state.length) await setImmediate();
  }
  const file = reader.end();
  const contents = [await prepareContent(vault, { stateVersionId, kind: "state" }, state)];
  if (jsonState) contents.push(await prepareContent(vault, { stateVersionId, kind: "json" }, jsonState));
  const instances = isInline(state.length, file) ? reader.takeInstances() : undefined;
  return { contents, read: { file, instances } };
}

async function write(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, "can-create-state-versions">,
  {
    id,
    attributes,
    brought,
  }: { readonly id: string; readonly attributes: Attributes; readonly brought?: Brought | undefined },
): Promise<DocumentAnswer<StateVersionView>> {
  const { nextPosition, latest, awaits } = await findSuccession(tx, workspace.id);
  const announced = newVersion(context, workspace, { id, position: nextPosition, attributes });
  const lineage = announced.lineage || (brought?.read.file.lineage ?? announced.lineage);
  const obstacle = attributes.force ? undefined : successionObstacle(latest, { ...announced, lineage });
  if (obstacle !== undefined) throw obstacle;
  let row: StateVersionTable = { ...announced, lineage };
  if (brought === undefined) await insertStateVersion(tx, row);
  else {
    const { contents, read } = brought;
    const rows = rowsOf(context.vault, row, read);
    row = { ...row, ...rows.columns, ...arrived(contents) };
    await insertStateVersion(tx, row);
    await insertContents(tx, workspace.organizationId, contents);
    const predecessor = latest?.status === "pending" ? await findPredecessor(tx, row) : latest;
    await insertRead(tx, rows, predecessor?.id);
    if (awaits) await recordDiscarded(tx, context, workspace, await discardVersions(tx, workspace.id, nextPosition));
    await noteStateWritten(tx, workspace.id, row.createdAt);
  }
  const view = inWorkspace(row, workspace, context);
  await recordChange(tx, context, stateVersions, { after: view }, { after: { workspace: workspace.id } });
  return { view };
}

function arrived(contents: readonly PreparedContent[]): Partial<StateVersionTable> {
  return {
    status: "finalized",
    size: contents[0]?.size ?? 0,
    hasJson: Number(contents.length > 1),
    uploadExpiresAt: null,
  };
}

/** A version whose content is awaited. */
function newVersion(
  { actor }: Context,
  workspace: WorkspaceView,
  facts: { readonly id: string; readonly position: number; readonly attributes: Attributes },
): StateVersionTable {
  const { id, position, attributes } = facts;
  const createdAt = now();
  return {
    ...unread,
    id,
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    position,
    serial: attributes.serial,
    // Empty where it is not known and whatever comes is taken.
    lineage: attributes.lineage || (attributes.force ? "" : null),
    md5: attributes.md5.toLowerCase(),
    status: "pending",
    intermediate: 1,
    size: 0,
    superseded: 0,
    uploadExpiresAt: new Date(Date.parse(createdAt) + uploadLifetimeMs).toISOString(),
    hasJson: 0,
    runId: null,
    createdByKind: actor.kind,
    createdById: actorId(actor),
    createdByName: actorName(actor),
    createdByTokenId: tokenIdOf(actor),
    createdAt,
    version: 1,
  };
}
