/** Contents that are sent to a signed URL: streamed into chunks, then given to their version in one short transaction. */
import { type Granted, madeIn } from "../../../../access/granted.ts";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import { type AppError, attributeFault, conflict, forbidden, invalid, notFound } from "../../../../kernel/errors.ts";
import { actorOfToken } from "../../../identity/authentication-tokens/reads.ts";
import { grantWorkspace, loadWorkspace } from "../../../register/workspaces/reads.ts";
import { hasLeaseEnded } from "../../../register/workspaces/holder.ts";
import { recordEvent } from "../../../shared/audit-events/writes.ts";
import type { Context } from "../../../shared/context.ts";
import {
  completeContent,
  digestOf,
  findContent,
  giveUp,
  receiveContent,
  type StoredContent,
} from "../../../shared/contents/contents.ts";
import { crowdOfUploads } from "../../../shared/contents/crowd.ts";
import { ofStateVersion, stateLimit } from "../kinds.ts";
import { lineageObstacle, makerOf } from "../rules.ts";
import { findForUpload, updateStateVersion } from "../store.ts";
import { findPreviousVersion } from "../reads.ts";
import { writeOutcome } from "./outcome.ts";
import { PassingState, processingJob, type ReadState, rowsOf } from "./reading.ts";
import type { UploadRight } from "./upload-urls.ts";

type Bytes = AsyncIterable<Uint8Array>;
type Version = Granted<StateVersionTable, "can-upload" | "can-create-state-versions">;

export const uploads = crowdOfUploads("states");

/**
 * Raises `conflict` for a version that awaits nothing any more, `invalid` for what is no state or not the announced one, and
 * `forbidden` or `not-found` where the holder of the URL may not write the state any more.
 */
export async function receiveState(context: Context, right: UploadRight, bytes: Bytes): Promise<void> {
  const version = await load(context.database.reader, right);
  await uploads.among({ organization: version.organizationId, version: version.id }, async () => {
    if (version.status === "finalized") return refuseOther(version.md5, bytes);
    refuseUnawaited(version);
    await requireWriter(context.database.reader, context, version);
    const passing = new PassingState();
    const content = await receiveContent(
      context,
      placeOf(version, right),
      bytes,
      (piece) => passing.write(piece),
      stateLimit,
    );
    const read = await readOrGiveUp(context, version, content, passing);
    await context.database.write(async (tx) => {
      await requireWriter(tx, context, version);
      await finalize(tx, context, right, { content, read });
    });
    if (read.instances === undefined) context.wake?.(processingJob);
  });
}

/** Raises `invalid` for what is no state, or not the one that was announced; nothing of it is kept. */
async function readOrGiveUp(
  context: Context,
  { md5 }: Version,
  content: StoredContent,
  passing: PassingState,
): Promise<ReadState> {
  try {
    const read = passing.end();
    if (content.md5 === md5) return read;
    throw invalid([attributeFault("md5", "Md5 is not the MD5 of the content that was sent; send it again")]);
  } catch (error) {
    await giveUp(context, content.id);
    throw error;
  }
}

interface Received {
  readonly content: StoredContent;
  readonly read: ReadState;
  /** The engine's JSON form, where it comes together with the state. */
  readonly json?: StoredContent | undefined;
}

/** The content becomes its version's: version → content → what was read out of it and the workspace → the trail. */
export async function finalize(
  tx: Tx,
  context: Context,
  right: UploadRight,
  { content, read, json }: Received,
): Promise<void> {
  const version = await load(tx, right, true);
  // Somebody sent the same content at the same time.
  if (version.status === "finalized") return;
  refuseUnawaited(version);
  const predecessor = await findPreviousVersion(tx, version);
  const obstacle = version.lineage === null ? lineageObstacle(predecessor, read.file.lineage) : undefined;
  if (obstacle !== undefined) throw obstacle;

  const rows = rowsOf(context.vault, version, read);
  const lineage = version.lineage || read.file.lineage;
  const { size, md5 } = content;
  const arrived = { lineage, status: "finalized", size, md5, ...(json && { hasJson: 1 }) };
  await updateStateVersion(tx, version, { ...rows.columns, ...arrived });
  await completeContent(tx, content);
  if (json !== undefined) await completeContent(tx, json);
  const maker = inNameOfMaker(context, version);
  await writeOutcome(tx, maker, version, { version, rows, predecessorId: predecessor?.id, awaits: true });
  await record(tx, maker, version, "upload", { status: "finalized", size: content.size });
}

/** The same for the engine's JSON form, which a finalized version takes too. */
export async function receiveJsonState(context: Context, right: UploadRight, bytes: Bytes): Promise<void> {
  const version = await load(context.database.reader, right);
  await uploads.among({ organization: version.organizationId, version: version.id }, async () => {
    const known =
      version.hasJson === 1
        ? await findContent(context.database.reader, ofStateVersion(version.id), "json")
        : undefined;
    if (known !== undefined) return refuseOther(known.md5, bytes);
    if (version.status !== "finalized") refuseUnawaited(version);
    await requireWriter(context.database.reader, context, version);
    const content = await receiveContent(context, placeOf(version, right), bytes, () => {}, stateLimit);
    await context.database.write(async (tx) => {
      await requireWriter(tx, context, version);
      const locked = await load(tx, right, true);
      if (locked.status !== "finalized") refuseUnawaited(locked);
      const other = locked.hasJson === 1 ? await findContent(tx, ofStateVersion(locked.id), "json") : undefined;
      if (other !== undefined && other.md5 === content.md5) return;
      if (other !== undefined) throw anotherContent();
      await updateStateVersion(tx, locked, { hasJson: 1 });
      await completeContent(tx, content);
      await record(tx, inNameOfMaker(context, locked), locked, "upload-json", {});
    });
  });
}

/** Raises `not-found`: the version has gone since its URL was signed. */
async function load(tx: Tx, right: UploadRight, lock = false): Promise<Version> {
  const version = await findForUpload(tx, right, lock);
  if (version === undefined) throw notFound("upload");
  // What was to be written under a lock is given up when its lease ends, also before somebody comes by and says so.
  return version.status === "pending" && hasLeaseEnded(version)
    ? madeIn(version, { ...version, status: "discarded" })
    : version;
}

/** Raises `forbidden` or `not-found` where the creator of the version may not write the workspace's state any more. */
async function requireWriter(tx: Tx, context: Context, { workspaceId, createdByTokenId }: Version): Promise<void> {
  const actor = await actorOfToken(tx, createdByTokenId ?? "");
  if (actor === undefined)
    throw forbidden(
      "This upload URL was given to a token that has expired or was revoked, or to a run that has ended. Create the state version again with a valid token.",
    );
  const workspace = await loadWorkspace(tx, { ...context, actor }, { workspaceId });
  grantWorkspace(workspace, "can-create-state-versions");
}

const placeOf = ({ organizationId, id }: Version, { kind }: UploadRight) => ({
  organizationId,
  owner: ofStateVersion(id),
  kind,
});

/** The same content once more is no mistake: the answer to the first was lost. */
async function refuseOther(md5: string, bytes: Bytes): Promise<void> {
  if ((await digestOf(bytes, stateLimit)) !== md5) throw anotherContent();
}

const anotherContent = (): AppError =>
  conflict("This state version has its content already, and it is another one. Create a new state version.");

function refuseUnawaited({ status }: Version): void {
  if (status !== "pending")
    throw conflict(
      `This content is not awaited any more: the state version is ${status}. Lock the workspace and create a new one.`,
    );
}

/** Nobody but whoever made the version was given the URL. */
const inNameOfMaker = (context: Context, version: Version): Context => ({ ...context, actor: makerOf(version) });

async function record(tx: Tx, maker: Context, version: Version, verb: string, after: object): Promise<void> {
  await recordEvent(tx, maker, {
    organizationId: version.organizationId,
    verb,
    subject: { type: "state-versions", id: version.id },
    before: { status: version.status },
    after,
  });
}
