/** A new state version: with its content in the request, or announced, to be sent to its upload URL. */
import { setImmediate } from "node:timers/promises";
import type { Granted } from "../../../../access/granted.ts";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import type { CreateAttributes, DocumentAnswer } from "../../../../jsonapi/define.ts";
import { conflict, refuseIfAny } from "../../../../kernel/errors.ts";
import { newId } from "../../../../kernel/ids.ts";
import { now } from "../../../../kernel/time.ts";
import { grantWorkspace, loadWorkspace } from "../../../register/workspaces/reads.ts";
import { holdsLock, nameOfHolder } from "../../../register/workspaces/holder.ts";
import type { WorkspaceView } from "../../../register/workspaces/view.ts";
import { recordChange } from "../../../shared/audit-events/writes.ts";
import type { Context } from "../../../shared/context.ts";
import { insertContents, type PreparedContent, prepareContent } from "../../../shared/contents/contents.ts";
import { stateVersions, type StateVersionView } from "../definition.ts";
import { ofStateVersion } from "../kinds.ts";
import { refuseTooLarge } from "../request.ts";
import { newStateVersion, runFaults, successionObstacle } from "../rules.ts";
import { findSuccession, insertStateVersion, inWorkspace } from "../store.ts";
import { writeOutcome } from "./outcome.ts";
import { PassingState, processingJob, type ReadState, rowsOf } from "./reading.ts";

type Attributes = CreateAttributes<typeof stateVersions>;
type Relationships = { readonly run?: string | null | undefined };
type Writable = Granted<WorkspaceView, "can-create-state-versions">;

/**
 * What is asked → may the caller → does it follow → the version → its content → what was read out of it and the workspace →
 * the trail. Raises `too-large`, `invalid` for what is no state, and `conflict` without the lock or out of turn.
 */
export async function createStateVersion(
  context: Context,
  workspaceId: string,
  { attributes, relationships }: { readonly attributes: Attributes; readonly relationships: Relationships },
): Promise<DocumentAnswer<StateVersionView>> {
  refuseTooLarge(attributes);
  refuseIfAny(runFaults(context.actor, relationships.run));
  const id = newId("state-versions");
  // Read, packed and sealed before the transaction: nobody has to wait for the workspace's row meanwhile.
  const brought = await broughtBy(context, id, attributes);
  const view = await context.database.write(async (tx) => {
    const workspace = await loadWritable(tx, context, workspaceId, true);
    const { position, previous, latest, predecessorId, awaits } = await findSuccession(tx, workspace.id);
    const facts = { id, position, workspace, ownLineage: brought?.read.file.lineage, createdAt: now() };
    const announced = newStateVersion(attributes, facts, context.actor);
    const obstacle = attributes.force ? undefined : successionObstacle(latest, announced);
    if (obstacle !== undefined) throw obstacle;

    const rows = brought && rowsOf(context.vault, announced, brought.read);
    const version: StateVersionTable = { ...announced, ...rows?.columns, ...arrivalOf(brought?.contents) };
    await insertStateVersion(tx, workspace, version);
    if (brought !== undefined && rows !== undefined) {
      await insertContents(tx, workspace, brought.contents);
      await writeOutcome(tx, context, workspace, { version, rows, predecessorId, awaits });
    }
    const shown = inWorkspace({ ...version, ...previous }, workspace, context);
    await recordChange(tx, context, stateVersions, { after: shown }, { after: { workspace: workspace.id } });
    return shown;
  });
  if (brought !== undefined && view.resourcesProcessed === 0) context.wake?.(processingJob);
  return { view };
}

/** Only whoever could write the state is let send one that is large. Raises what the creation itself would. */
export async function admitWriter(request: {
  readonly context: Context;
  readonly params: { readonly workspaceId: string };
}): Promise<void> {
  const { context, params } = request;
  await loadWritable(context.database.reader, context, params.workspaceId);
}

/** Raises `not-found`, `forbidden`, and `conflict` unless the caller holds the workspace's lock. */
export async function loadWritable(tx: Tx, context: Context, workspaceId: string, lock = false): Promise<Writable> {
  const found = await loadWorkspace(tx, context, { workspaceId }, lock);
  const workspace = grantWorkspace(found, "can-create-state-versions");
  if (workspace.lockedByType === null)
    throw conflict("Unable to write state. The workspace is not locked; lock it first.");
  if (!holdsLock(context.actor, workspace))
    throw conflict(
      `Unable to write state. The workspace is locked by ${nameOfHolder(workspace)}, who alone may write state until it is unlocked.`,
    );
  return workspace;
}

interface Brought {
  readonly read: ReadState;
  readonly contents: readonly PreparedContent[];
}

const sliceBytes = 64 * 1024;

/** Undefined where the content comes later. Raises `invalid` for what is no state. */
async function broughtBy(
  { vault }: Context,
  stateVersionId: string,
  { state, jsonState }: Attributes,
): Promise<Brought | undefined> {
  if (state === undefined) return undefined;
  const passing = new PassingState();
  for (let start = 0; start < state.length; start += sliceBytes) {
    passing.write(state.subarray(start, start + sliceBytes));
    // Others have their turn.
    if (start + sliceBytes < state.length) await setImmediate();
  }
  const read = passing.end();
  const owner = ofStateVersion(stateVersionId);
  const contents = [await prepareContent(vault, { owner, kind: "state" }, state)];
  if (jsonState) contents.push(await prepareContent(vault, { owner, kind: "json" }, jsonState));
  return { read, contents };
}

/** What a version says of a content that is there; nothing while it is awaited. */
function arrivalOf(contents: readonly PreparedContent[] | undefined): Partial<StateVersionTable> {
  if (contents === undefined) return {};
  const [state, json] = contents;
  return { status: "finalized", size: state?.size ?? 0, hasJson: Number(json !== undefined), uploadExpiresAt: null };
}
