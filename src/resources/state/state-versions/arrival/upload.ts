/** Contents that are sent to a signed URL: streamed into chunks, then given to their version in one short transaction. */
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import { type AppError, attributeFault, conflict, invalid, notFound } from "../../../../kernel/errors.ts";
import { recordEvent } from "../../../shared/audit-events/writes.ts";
import type { Context } from "../../../shared/context.ts";
import { noteStateWritten } from "../../../register/workspaces/writes.ts";
import { completeContent, type ContentKind, findContent, type StoredContent } from "../contents/store.ts";
import { digestOf, giveUp, receiveContent } from "../contents/contents.ts";
import { Crowd } from "../contents/crowd.ts";
import { processingJob } from "./creation.ts";
import { inlineBytesMax, inlineRowsMax, insertRead, isInline, type ReadState, rowsOf } from "./processing.ts";
import { lineageObstacle } from "../rules.ts";
import { StateFileReader } from "../../../../statefile/state-file.ts";
import type { StateInstance } from "../../../../statefile/state-file.ts";
import { discardVersions, findForUpload, findPredecessor, makerOf, updateStateVersion } from "../store.ts";
import { recordDiscarded } from "../writes.ts";

type Bytes = AsyncIterable<Uint8Array>;

/** Each needs the memory of a few chunks. Nobody can take all: neither by one URL nor for one organization. */
const uploads = new Crowd("Too many states are being sent at once. Try again shortly.", {
  all: 64,
  organization: 16,
  version: 4,
});

/** The URL was checked before. Raises `conflict` for a version that awaits nothing any more. */
export async function receiveState(context: Context, id: string, bytes: Bytes): Promise<void> {
  const version = await load(context, id);
  await uploads.among({ organization: version.organizationId, version: id }, async () => {
    if (version.status === "finalized") return refuseOther(version.md5, bytes);
    refuseUnawaited(version);
    const { content, read } = await store(context, version, bytes);
    if (content.md5 !== version.md5) {
      await giveUp(context, content.id);
      throw invalid([attributeFault("md5", "Md5 is not the MD5 of the content that was sent; send it again")]);
    }
    await finalize(context, id, content, read);
    if (read.instances === undefined) context.wake?.(processingJob);
  });
}

export async function receiveJsonState(context: Context, id: string, bytes: Bytes): Promise<void> {
  const version = await load(context, id);
  await uploads.among({ organization: version.organizationId, version: id }, async () => {
    const known = version.hasJson === 1 ? await findContent(context.database.reader, id, "json") : undefined;
    if (known !== undefined) return refuseOther(known.md5, bytes);
    if (version.status !== "finalized") refuseUnawaited(version);
    const content = await receiveContent(context, placeOf(version, "json"), bytes, () => {});
    await context.database.write(async (tx) => {
      const locked = await findForUpload(tx, id, true);
      if (locked === undefined) throw notFound("upload");
      if (locked.status !== "finalized") refuseUnawaited(locked);
      const other = locked.hasJson === 1 ? await findContent(tx, id, "json") : undefined;
      if (other !== undefined && other.md5 === content.md5) return;
      if (other !== undefined) throw anotherContent();
      await completeContent(tx, content);
      await updateStateVersion(tx, locked, { hasJson: 1 });
      await record(tx, context, locked, "upload-json", {});
    });
  });
}

async function load({ database }: Context, id: string): Promise<StateVersionTable> {
  const version = await findForUpload(database.reader, id);
  if (version === undefined) throw notFound("upload");
  return version;
}

const placeOf = ({ organizationId, id }: StateVersionTable, kind: ContentKind) => ({
  organizationId,
  stateVersionId: id,
  kind,
});

/** The same content once more is no mistake: the answer to the first was lost. */
async function refuseOther(md5: string, bytes: Bytes): Promise<void> {
  if ((await digestOf(bytes)) !== md5) throw anotherContent();
}

const anotherContent = (): AppError =>
  conflict("This state version has its content already, and it is another one. Create a new state version.");

function refuseUnawaited({ status }: StateVersionTable): void {
  if (status !== "pending")
    throw conflict(
      `This content is not awaited any more: the state version is ${status}. Lock the workspace and create a new one.`,
    );
}

/** Stores the state and reads it on its way; resources are only kept while there are few. */
async function store(
  context: Context,
  version: StateVersionTable,
  bytes: Bytes,
): Promise<{ content: StoredContent; read: ReadState }> {
  const reader = new StateFileReader();
  let instances: StateInstance[] | undefined = [];
  let seen = 0;
  const content = await receiveContent(context, placeOf(version, "state"), bytes, (piece) => {
    reader.write(piece);
    seen += piece.length;
    if (instances === undefined) return;
    instances = instances.concat(reader.takeInstances());
    if (seen <= inlineBytesMax && instances.length <= inlineRowsMax) return;
    instances = undefined;
    reader.stopListing();
  });
  const file = reader.end();
  instances = instances?.concat(reader.takeInstances());
  return { content, read: { file, instances: isInline(content.size, file) ? instances : undefined } };
}

async function finalize(context: Context, id: string, content: StoredContent, read: ReadState): Promise<void> {
  await context.database.write(async (tx) => {
    const version = await findForUpload(tx, id, true);
    if (version === undefined) throw notFound("upload");
    // Somebody sent the same content at the same time.
    if (version.status === "finalized") return;
    refuseUnawaited(version);
    const predecessor = await findPredecessor(tx, version);
    const obstacle = version.lineage === null ? lineageObstacle(predecessor, read.file.lineage) : undefined;
    if (obstacle !== undefined) throw obstacle;
    const rows = rowsOf(context.vault, version, read);
    await completeContent(tx, content);
    await insertRead(tx, rows, predecessor?.id);
    const lineage = version.lineage || read.file.lineage;
    await updateStateVersion(tx, version, { ...rows.columns, status: "finalized", size: content.size, lineage });
    const discarded = await discardVersions(tx, version.workspaceId, version.position);
    await recordDiscarded(tx, { ...context, actor: makerOf(version) }, version, discarded);
    await noteStateWritten(tx, version.workspaceId, version.createdAt);
    await record(tx, context, version, "upload", { status: "finalized", size: content.size });
  });
}

/** In the name of who made the version: nobody else was given the URL. */
async function record(
  tx: Parameters<typeof recordEvent>[0],
  context: Context,
  version: StateVersionTable,
  verb: string,
  after: object,
): Promise<void> {
  await recordEvent(
    tx,
    { ...context, actor: makerOf(version) },
    {
      organizationId: version.organizationId,
      verb,
      subject: { type: "state-versions", id: version.id },
      before: { status: version.status },
      after,
    },
  );
}
