/**
 * Going back to an earlier state: its content once more, as a new version with the next serial. The content streams from the one to
 * the other, so that a large one needs the memory of a few chunks; meanwhile the new version is awaited, as one that is uploaded.
 */
import { madeIn } from "../../../../access/granted.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import type { DocumentAnswer } from "../../../../jsonapi/define.ts";
import { conflict, invalid, relationshipFault } from "../../../../kernel/errors.ts";
import { newId } from "../../../../kernel/ids.ts";
import { now } from "../../../../kernel/time.ts";
import { Renumbering } from "../../../../statefile/state-head.ts";
import { recordChange } from "../../../shared/audit-events/writes.ts";
import {
  findContent,
  giveUp,
  readContent,
  receiveContent,
  type StoredContent,
} from "../../../shared/contents/contents.ts";
import type { Context } from "../../../shared/context.ts";
import { stateVersions, type StateVersionView } from "../definition.ts";
import { type ContentKind, ofStateVersion, stateLimit } from "../kinds.ts";
import { loadStateVersion } from "../reads.ts";
import { newStateVersion } from "../rules.ts";
import { discardVersions, findStateVersion, findSuccession, insertStateVersion, inWorkspace } from "../store.ts";
import { recordDiscarded } from "../writes.ts";
import { loadWritable } from "./creation.ts";
import { PassingState, processingJob, type ReadState } from "./reading.ts";
import { finalize, uploads } from "./upload.ts";
import type { UploadRight } from "./upload-urls.ts";

/** The new version, and whose content it is to have. */
interface Begun {
  readonly version: StateVersionTable;
  readonly source: StateVersionTable;
  readonly right: UploadRight;
}

/** Raises `conflict` without the lock, and `invalid` for a version that this workspace does not have, or without a content that can be used. */
export async function rollBack(
  context: Context,
  workspaceId: string,
  sourceId: string,
): Promise<DocumentAnswer<StateVersionView>> {
  const begun = await begin(context, workspaceId, sourceId);
  const { id, organizationId } = begun.version;
  const isRead = await uploads
    .among({ organization: organizationId, version: id }, () => copy(context, begun))
    .catch(async (error: unknown) => {
      await abandon(context, begun);
      throw error;
    });
  if (!isRead) context.wake?.(processingJob);
  return { view: await loadStateVersion(context.database.reader, context, id) };
}

/** The version, awaited: nobody can unlock in the middle, or write another one before it. */
function begin(context: Context, workspaceId: string, sourceId: string): Promise<Begun> {
  return context.database.write(async (tx) => {
    const workspace = await loadWritable(tx, context, workspaceId, true);
    const source = await findStateVersion(tx, context, sourceId);
    const fault = faultOf(source?.workspaceId === workspace.id ? source : undefined);
    if (source === undefined || fault !== undefined)
      throw invalid([relationshipFault("rollback-state-version", fault ?? "")]);
    const { position, latest } = await findSuccession(tx, workspace.id);
    const serial = Math.max(latest?.serial ?? 0, source.serial) + 1;
    if (!Number.isSafeInteger(serial)) throw conflict("There is no serial after the latest one. Write a new lineage.");
    const facts = { id: newId("state-versions"), position, workspace, ownLineage: source.lineage, createdAt: now() };
    // Its digest is known when it was copied; until then no upload has it.
    const attributes = { serial, md5: "", lineage: source.lineage, force: true };
    const version = newStateVersion(attributes, facts, context.actor);
    await insertStateVersion(tx, workspace, version);
    await recordChange(
      tx,
      context,
      stateVersions,
      { after: inWorkspace(version, workspace, context) },
      { after: { workspace: workspace.id, "rollback-state-version": source.id } },
    );
    return {
      version,
      source,
      right: madeIn(workspace, { id: version.id, workspaceId: version.workspaceId, kind: "state" as const }),
    };
  });
}

function faultOf(source: StateVersionView | undefined): string | undefined {
  if (source === undefined) return "Rollback state version does not exist in this workspace";
  if (source.status !== "finalized")
    return `Rollback state version has no content to go back to: it is ${source.status}`;
  // Its serial is also inside what is sealed, where only the engine can raise it.
  if (source.encrypted === 1)
    return "Rollback state version was encrypted by the engine, which alone can raise its serial: fetch it with 'tofu state pull', and push it with a higher serial";
  return undefined;
}

/** Tells whether all that is in it was read. */
async function copy(context: Context, { version, source, right }: Begun): Promise<boolean> {
  const { content, read } = await copyState(context, version, source);
  const json = source.hasJson === 1 ? await copyContent(context, version, source, "json") : undefined;
  await context.database.write((tx) => finalize(tx, context, right, { content, read, json }));
  return read.instances !== undefined;
}

async function copyState(context: Context, version: StateVersionTable, source: StateVersionTable) {
  const passing = new PassingState();
  const renumbering = new Renumbering(version.serial);
  async function* renumbered(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) yield* renumbering.write(piece);
  }
  const look = (piece: Uint8Array) => passing.write(piece);
  const content = await copyContent(context, version, source, "state", { through: renumbered, look });
  try {
    const read: ReadState = passing.end();
    return { content, read };
  } catch (error) {
    await giveUp(context, content.id);
    throw error;
  }
}

interface Passage {
  readonly through: (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  readonly look: (piece: Uint8Array) => void;
}

async function copyContent(
  context: Context,
  { id, organizationId }: StateVersionTable,
  source: StateVersionTable,
  kind: ContentKind,
  { through, look }: Passage = { through: (bytes) => bytes, look: () => {} },
): Promise<StoredContent> {
  const content = await findContent(context.database.reader, ofStateVersion(source.id), kind);
  // Somebody has removed it this very moment.
  if (content === undefined) throw conflict("The content of the state version to go back to is gone.");
  const place = { organizationId, owner: ofStateVersion(id), kind };
  return receiveContent(context, place, through(readContent(context, content)), look, stateLimit);
}

/** Nobody waits for it: whoever asked is told what went wrong. */
async function abandon(context: Context, { version, right }: Begun): Promise<void> {
  const { workspaceId, position } = version;
  await context.database.write(async (tx) => {
    const given = await discardVersions(tx, right, { workspaceId, position: position + 1 });
    await recordDiscarded(tx, context, given);
  });
}
