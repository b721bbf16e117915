/** Receives uploads to signed URLs as streams, and attaches them to their version in a short transaction. */
import { type Granted, withProofOf } from "../../../../access/granted.ts";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import { type AppError, attributeFault, conflict, forbidden, invalid, notFound } from "../../../../kernel/errors.ts";
import { actorOfToken } from "../../../identity/authentication-tokens/reads.ts";
import { authorizeWorkspace, loadWorkspace } from "../../../register/workspaces/reads.ts";
import { hasLeaseExpired } from "../../../register/workspaces/lock-holder.ts";
import { recordEvent } from "../../../shared/audit-events/writes.ts";
import type { Context } from "../../../shared/context.ts";
import {
  completeContent,
  streamDigest,
  findContent,
  discardUpload,
  receiveContent,
  type StoredContent,
} from "../../../shared/contents/contents.ts";
import { uploadLimit } from "../../../shared/contents/concurrency-limit.ts";
import { stateVersionOwner, stateLimit } from "../kinds.ts";
import { lineageObstacle, creatorOf } from "../rules.ts";
import { findForUpload, updateStateVersion } from "../store.ts";
import { findPreviousVersion } from "../reads.ts";
import { recordArrival } from "./record-arrival.ts";
import { StateParser, processingJob, type ParsedState, rowsFromState } from "./parsing.ts";
import type { StateUploadGrant } from "./upload-urls.ts";

type ByteStream = AsyncIterable<Uint8Array>;
type UploadedVersion = Granted<StateVersionTable, "can-upload" | "can-create-state-versions">;

export const uploads = uploadLimit("states");

/** Throws `conflict` unless the version is pending, `invalid` for wrong content, `forbidden` or `not-found` if its creator lost access. */
export async function receiveState(context: Context, grant: StateUploadGrant, bytes: ByteStream): Promise<void> {
  const version = await loadForUpload(context.database.reader, grant);
  await uploads.run({ organization: version.organizationId, version: version.id }, async () => {
    if (version.status === "finalized") return refuseOtherContent(version.md5, bytes);
    refuseUnlessPending(version);
    await requireWriter(context.database.reader, context, version);
    const parser = new StateParser();
    const content = await receiveContent(
      context,
      contentLocation(version, grant),
      bytes,
      (piece) => parser.write(piece),
      stateLimit,
    );
    const parsed = await parseOrDiscard(context, version, content, parser);
    await context.database.write(async (tx) => {
      await requireWriter(tx, context, version);
      await finalizeUpload(tx, context, grant, { content, parsed });
    });
    if (parsed.instances === undefined) context.wake?.(processingJob);
  });
}

/** Removes invalid content. Throws `invalid`. */
async function parseOrDiscard(
  context: Context,
  { md5 }: UploadedVersion,
  content: StoredContent,
  parser: StateParser,
): Promise<ParsedState> {
  try {
    const parsed = parser.end();
    if (content.md5 === md5) return parsed;
    throw invalid([attributeFault("md5", "Md5 does not match the uploaded content; upload it again")]);
  } catch (error) {
    await discardUpload(context, content);
    throw error;
  }
}

interface ReceivedState {
  readonly content: StoredContent;
  readonly parsed: ParsedState;
  readonly json?: StoredContent | undefined;
}

export async function finalizeUpload(
  tx: Tx,
  context: Context,
  grant: StateUploadGrant,
  { content, parsed, json }: ReceivedState,
): Promise<void> {
  const version = await loadForUpload(tx, grant, true);
  // A concurrent request uploaded the same content.
  if (version.status === "finalized") return;
  refuseUnlessPending(version);
  const predecessor = await findPreviousVersion(tx, version);
  const obstacle = version.lineage === null ? lineageObstacle(predecessor, parsed.file.lineage) : undefined;
  if (obstacle !== undefined) throw obstacle;

  const rows = rowsFromState(context.vault, version, parsed);
  const lineage = version.lineage || parsed.file.lineage;
  const { size, md5 } = content;
  const arrived = { lineage, status: "finalized", size, md5, ...(json && { hasJson: 1 }) };
  await updateStateVersion(tx, version, { ...rows.columns, ...arrived });
  await completeContent(tx, content);
  if (json !== undefined) await completeContent(tx, json);
  const creator = asCreator(context, version);
  await recordArrival(tx, creator, version, { version, rows, predecessorId: predecessor?.id, hasPending: true });
  await record(tx, creator, version, "upload", { status: "finalized", size: content.size });
}

/** A finalized version accepts its JSON form too. */
export async function receiveJsonState(context: Context, grant: StateUploadGrant, bytes: ByteStream): Promise<void> {
  const version = await loadForUpload(context.database.reader, grant);
  await uploads.run({ organization: version.organizationId, version: version.id }, async () => {
    const known =
      version.hasJson === 1
        ? await findContent(context.database.reader, stateVersionOwner(version.id), "json")
        : undefined;
    if (known !== undefined) return refuseOtherContent(known.md5, bytes);
    if (version.status !== "finalized") refuseUnlessPending(version);
    await requireWriter(context.database.reader, context, version);
    const content = await receiveContent(context, contentLocation(version, grant), bytes, () => {}, stateLimit);
    await context.database.write(async (tx) => {
      await requireWriter(tx, context, version);
      const locked = await loadForUpload(tx, grant, true);
      if (locked.status !== "finalized") refuseUnlessPending(locked);
      const other = locked.hasJson === 1 ? await findContent(tx, stateVersionOwner(locked.id), "json") : undefined;
      if (other !== undefined && other.md5 === content.md5) return;
      if (other !== undefined) throw otherContentConflict();
      await updateStateVersion(tx, locked, { hasJson: 1 });
      await completeContent(tx, content);
      await record(tx, asCreator(context, locked), locked, "upload-json", {});
    });
  });
}

async function loadForUpload(tx: Tx, grant: StateUploadGrant, lock = false): Promise<UploadedVersion> {
  const version = await findForUpload(tx, grant, lock);
  if (version === undefined) throw notFound("upload");
  // An expired lease discards pending versions, even before a transaction writes that to the database.
  return version.status === "pending" && hasLeaseExpired(version)
    ? withProofOf(version, { ...version, status: "discarded" })
    : version;
}

/** Throws `forbidden` or `not-found`. */
async function requireWriter(
  tx: Tx,
  context: Context,
  { workspaceId, createdByTokenId }: UploadedVersion,
): Promise<void> {
  const actor = await actorOfToken(tx, createdByTokenId ?? "");
  if (actor === undefined)
    throw forbidden(
      "This upload URL was issued to a token that has expired or was revoked, or to a run that has ended. Create the state version again with a valid token.",
    );
  const workspace = await loadWorkspace(tx, { ...context, actor }, { workspaceId });
  authorizeWorkspace(workspace, "can-create-state-versions");
}

const contentLocation = ({ organizationId, id }: UploadedVersion, { kind }: StateUploadGrant) => ({
  organizationId,
  owner: stateVersionOwner(id),
  kind,
});

/** Accepts the same content again: the client may have lost the first response. */
async function refuseOtherContent(md5: string, bytes: ByteStream): Promise<void> {
  if ((await streamDigest(bytes, stateLimit)) !== md5) throw otherContentConflict();
}

const otherContentConflict = (): AppError =>
  conflict("This state version already has different content. Create a new state version.");

function refuseUnlessPending({ status }: UploadedVersion): void {
  if (status !== "pending")
    throw conflict(
      `This state version can't be uploaded to: its status is ${status}. Lock the workspace and create a new state version.`,
    );
}

/** Only the version's creator gets the URL, so audit events name the creator. */
const asCreator = (context: Context, version: UploadedVersion): Context => ({ ...context, actor: creatorOf(version) });

async function record(tx: Tx, creator: Context, version: UploadedVersion, verb: string, after: object): Promise<void> {
  await recordEvent(tx, creator, {
    organizationId: version.organizationId,
    verb,
    subject: { type: "state-versions", id: version.id },
    before: { status: version.status },
    after,
  });
}
