/** Rolls back to an earlier state: streams its content into a new version with the next serial, which is pending until then. */
import { withProofOf } from "../../../../access/granted.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import type { DocumentAnswer } from "../../../../jsonapi/define.ts";
import { conflict, invalid, relationshipFault } from "../../../../kernel/errors.ts";
import { newId } from "../../../../kernel/ids.ts";
import { now } from "../../../../kernel/time.ts";
import { SerialRewriter } from "../../../../statefile/state-head.ts";
import { recordChange } from "../../../shared/audit-events/writes.ts";
import {
  findContent,
  discardUpload,
  readContent,
  receiveContent,
  type StoredContent,
} from "../../../shared/contents/contents.ts";
import type { Context } from "../../../shared/context.ts";
import { stateVersions, type StateVersionView } from "../definition.ts";
import { type StateContentKind, stateVersionOwner, stateLimit } from "../kinds.ts";
import { loadStateVersion } from "../reads.ts";
import { newStateVersion } from "../rules.ts";
import { discardVersions, findStateVersion, findSuccession, insertStateVersion, stateVersionViewIn } from "../store.ts";
import { recordDiscarded } from "../writes.ts";
import { loadWritableWorkspace } from "./creation.ts";
import { StateParser, processingJob, type ParsedState } from "./parsing.ts";
import { finalizeUpload, uploads } from "./upload.ts";
import type { StateUploadGrant } from "./upload-urls.ts";

interface PendingRollback {
  readonly version: StateVersionTable;
  readonly source: StateVersionTable;
  readonly grant: StateUploadGrant;
}

/** Throws `conflict` without the lock, and `invalid` for a version of another workspace or without usable content. */
export async function rollBack(
  context: Context,
  workspaceId: string,
  sourceId: string,
): Promise<DocumentAnswer<StateVersionView>> {
  const rollback = await beginRollback(context, workspaceId, sourceId);
  const { id, organizationId } = rollback.version;
  const isProcessed = await uploads
    .run({ organization: organizationId, version: id }, () => copyContents(context, rollback))
    .catch(async (error: unknown) => {
      await discardRollback(context, rollback);
      throw error;
    });
  if (!isProcessed) context.wake?.(processingJob);
  return { view: await loadStateVersion(context.database.reader, context, id) };
}

/** The pending version blocks unlocking and other writes until the copy is complete. */
function beginRollback(context: Context, workspaceId: string, sourceId: string): Promise<PendingRollback> {
  return context.database.write(async (tx) => {
    const workspace = await loadWritableWorkspace(tx, context, workspaceId, "change");
    const source = await findStateVersion(tx, context, sourceId);
    const fault = sourceFaultOf(source?.workspaceId === workspace.id ? source : undefined);
    if (source === undefined || fault !== undefined)
      throw invalid([relationshipFault("rollback-state-version", fault ?? "")]);
    const { position, latest } = await findSuccession(tx, workspace.id);
    const serial = Math.max(latest?.serial ?? 0, source.serial) + 1;
    if (!Number.isSafeInteger(serial))
      throw conflict("The latest serial is the largest possible one. Start a new lineage.");
    const input = {
      id: newId("state-versions"),
      position,
      workspace,
      contentLineage: source.lineage,
      createdAt: now(),
    };
    // The digest is known after the copy. An empty one matches no upload.
    const attributes = { serial, md5: "", lineage: source.lineage, force: true };
    const version = newStateVersion(attributes, input, context.actor);
    await insertStateVersion(tx, workspace, version);
    await recordChange(
      tx,
      context,
      stateVersions,
      { after: stateVersionViewIn(version, workspace, context) },
      { after: { workspace: workspace.id, "rollback-state-version": source.id } },
    );
    return {
      version,
      source,
      grant: withProofOf(workspace, { id: version.id, workspaceId: version.workspaceId, kind: "state" as const }),
    };
  });
}

function sourceFaultOf(source: StateVersionView | undefined): string | undefined {
  if (source === undefined) return "Rollback state version does not exist in this workspace";
  if (source.status !== "finalized") return `Rollback state version has no content: its status is ${source.status}`;
  // The encrypted part also contains the serial, and only the engine can change it.
  if (source.encrypted === 1)
    return "Rollback state version was encrypted by the engine, so only the engine can raise its serial; download it with 'tofu state pull', and push it with a higher serial";
  return undefined;
}

/** Returns whether the state was processed completely. */
async function copyContents(context: Context, { version, source, grant }: PendingRollback): Promise<boolean> {
  const { content, parsed } = await copyState(context, version, source);
  const json = source.hasJson === 1 ? await copyContent(context, version, source, "json") : undefined;
  await context.database.write((tx) => finalizeUpload(tx, context, grant, { content, parsed, json }));
  return parsed.instances !== undefined;
}

async function copyState(context: Context, version: StateVersionTable, source: StateVersionTable) {
  const parser = new StateParser();
  const renumbering = new SerialRewriter(version.serial);
  async function* renumbered(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) yield* renumbering.write(piece);
  }
  const inspect = (piece: Uint8Array) => parser.write(piece);
  const content = await copyContent(context, version, source, "state", { transform: renumbered, inspect });
  try {
    const parsed: ParsedState = parser.end();
    return { content, parsed };
  } catch (error) {
    await discardUpload(context, content);
    throw error;
  }
}

interface ContentTransform {
  readonly transform: (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  readonly inspect: (piece: Uint8Array) => void;
}

async function copyContent(
  context: Context,
  { id, organizationId }: StateVersionTable,
  source: StateVersionTable,
  kind: StateContentKind,
  { transform, inspect }: ContentTransform = { transform: (bytes) => bytes, inspect: () => {} },
): Promise<StoredContent> {
  const content = await findContent(context.database.reader, stateVersionOwner(source.id), kind);
  if (content === undefined) throw conflict("The content of the rollback state version was deleted.");
  const location = { organizationId, owner: stateVersionOwner(id), kind };
  return receiveContent(context, location, transform(readContent(context, content)), inspect, stateLimit);
}

async function discardRollback(context: Context, { version, grant }: PendingRollback): Promise<void> {
  const { workspaceId, position } = version;
  await context.database.write(async (tx) => {
    const discarded = await discardVersions(tx, grant, { workspaceId, position: position + 1 });
    await recordDiscarded(tx, context, discarded);
  });
}
