/** Checks and stores configuration archives. A rejected or interrupted upload leaves nothing but the version's error. */
import type { ConfigurationUploadGrant } from "./upload-urls.ts";
import type { Capability } from "../../../access/capability.ts";
import { ArchiveCheck, type CheckedArchive } from "../../../archive/check.ts";
import { ArchiveFault } from "../../../archive/faults.ts";
import type { Granted } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import type { ConfigurationVersionTable } from "../../../database/schema/runs.ts";
import { AppError, conflict, forbidden, notFound } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import {
  completeContent,
  streamDigest,
  findContent,
  discardUpload,
  insertContents,
  orphanContent,
  prepareContent,
  type PreparedContent,
  receiveContent,
  type StoredContent,
} from "../../shared/contents/contents.ts";
import { uploadLimit } from "../../shared/contents/concurrency-limit.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { actorOfToken } from "../../identity/authentication-tokens/reads.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import { createRun } from "../runs/lifecycle.ts";
import { setCurrentConfiguration } from "../../register/workspaces/writes.ts";
import {
  archiveLimit,
  becomesCurrent,
  type ConfigurationCommit,
  type ConfigurationContentKind,
  creatorOf,
  type NewConfiguration,
  newConfigurationVersion,
  ofConfigurationVersion,
  columnsForConfigurationStatus,
} from "./rules.ts";
import {
  type AwaitedConfiguration,
  findAwaitedConfiguration,
  hasRun,
  insertConfigurationVersion,
  nextPosition,
  updateConfigurationVersion,
} from "./store.ts";

type ArchiveBytes = AsyncIterable<Uint8Array>;
type GrantedConfiguration = Granted<AwaitedConfiguration, "can-upload" | "job">;

const uploads = uploadLimit("configurations");

/** Throws `invalid` or `too-large` (also recorded on the version), `bad-request`, `conflict`, `forbidden` and `not-found`. */
export async function receiveArchive(
  context: Context,
  by: ConfigurationUploadGrant | Capability<"job">,
  id: string,
  bytes: ArchiveBytes,
): Promise<void> {
  const version = await loadVersion(context.database.reader, by, id);
  await uploads.run({ organization: version.organizationId, version: id }, async () => {
    requireUploadable(version);
    await loadUploader(context.database.reader, context, version);
    // A run's archive can't be replaced. The same archive is accepted again: the first response may have been lost.
    if (version.status === "uploaded" && (await hasRun(context.database.reader, id)))
      return requireSameArchive(context, version, bytes);
    const startedAt = now();
    const received = await storeArchive(context, by, version, bytes);
    const contents = await preparedReadme(context, id, received.checked);
    const isAttached = await context.database.write((tx) =>
      attachArchive(tx, context, by, { ...received, id, contents, startedAt }),
    );
    if (!isAttached) await discardUpload(context, received.content);
  });
}

type ConfigurationJob = Pick<JobContext, "context" | "capability">;

/** The workspace must be locked. The version has no creator. */
export async function createFetchedConfiguration(
  tx: Tx,
  { context, capability }: ConfigurationJob,
  workspace: { readonly id: string; readonly organizationId: string },
  commit: ConfigurationCommit,
  attributes: NewConfiguration = {},
): Promise<ConfigurationVersionTable> {
  const facts = { workspace, position: await nextPosition(tx, workspace.id), createdAt: now() };
  const row = newConfigurationVersion(attributes, facts, context, commit);
  await insertConfigurationVersion(tx, capability, row);
  const { id, organizationId, source, status } = row;
  const after = { workspace: workspace.id, source, status, "commit-sha": commit.ingress.commitSha };
  const subject = { type: "configuration-versions", id };
  await recordEvent(tx, context, { organizationId, verb: "create", subject, after });
  return row;
}

export async function receiveFetchedArchive(
  { context, capability }: ConfigurationJob,
  id: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  await receiveArchive(context, capability, id, bytes);
}

interface ReceivedArchive {
  readonly content: StoredContent;
  readonly checked: CheckedArchive;
}

async function storeArchive(
  context: Context,
  by: ConfigurationUploadGrant | Capability<"job">,
  version: GrantedConfiguration,
  bytes: ArchiveBytes,
): Promise<ReceivedArchive> {
  const target = { organizationId: version.organizationId, owner: ofConfigurationVersion(version.id), kind: "archive" };
  const checking = new ArchiveCheck(version.workingDirectory ?? "");
  let content: StoredContent | undefined;
  try {
    content = await receiveContent(context, target, bytes, (piece) => checking.write(piece), archiveLimit);
    return { content, checked: await checking.end() };
  } catch (error) {
    if (content !== undefined) await discardUpload(context, content);
    if (!(error instanceof ArchiveFault)) throw error;
    const failure = { code: error.code, message: error.message };
    await context.database.write((tx) => recordUploadFailure(tx, context, by, version.id, failure));
    throw refusalOf(error);
  } finally {
    checking.destroy();
  }
}

const refusalOf = (fault: ArchiveFault): AppError =>
  new AppError(
    fault.code === "too_large" ? "too-large" : "invalid",
    `The configuration was rejected. ${fault.message}`,
  );

export async function recordUploadFailure(
  tx: Tx,
  context: Context,
  by: ConfigurationUploadGrant | Capability<"job">,
  id: string,
  { code, message }: { readonly code: string; readonly message: string },
): Promise<void> {
  const version = await loadVersion(tx, by, id, true);
  if (version.status !== "pending" && version.status !== "fetching") return;
  const changes = {
    ...columnsForConfigurationStatus(version, "errored", { "finished-at": now() }),
    error: code,
    errorMessage: message,
  };
  await updateConfigurationVersion(tx, version, id, changes);
  if (version.currentConfigurationVersionId === id)
    await setCurrentConfiguration(tx, version, version.workspaceId, null);
  await recordUpload(tx, context, version, { status: "errored", error: code, "error-message": message });
}

async function preparedReadme({ vault }: Context, id: string, { readme }: CheckedArchive): Promise<PreparedContent[]> {
  if (readme === undefined) return [];
  return [await prepareContent(vault, { owner: ofConfigurationVersion(id), kind: "readme" }, readme)];
}

interface ReceivedUpload extends ReceivedArchive {
  readonly id: string;
  readonly contents: readonly PreparedContent[];
  readonly startedAt: string;
}

async function attachArchive(
  tx: Tx,
  context: Context,
  by: ConfigurationUploadGrant | Capability<"job">,
  { id, content, contents, startedAt }: ReceivedUpload,
): Promise<boolean> {
  const version = await loadVersion(tx, by, id, true);
  requireUploadable(version);
  const uploader = await loadUploader(tx, context, version);
  if (version.status === "uploaded" && !(await removeEarlierArchive(tx, version, content))) return false;
  const stamps = { "started-at": startedAt, "finished-at": now() };
  const hasReadme = contents.length;
  const columns = { ...columnsForConfigurationStatus(version, "uploaded", stamps), size: content.size, hasReadme };
  await updateConfigurationVersion(tx, version, id, { ...columns, approvedAt: approvalBy(uploader) });
  await completeContent(tx, content);
  if (contents.length > 0) await insertContents(tx, version, contents);
  if (becomesCurrent(version)) await setCurrentConfiguration(tx, version, version.workspaceId, { id, hasReadme });
  const queued = version.status === "uploaded" ? undefined : await queueRun(tx, version, uploader);
  await recordUpload(tx, context, version, { status: "uploaded", size: content.size, ...queued });
  return true;
}

async function removeEarlierArchive(tx: Tx, version: GrantedConfiguration, { md5 }: StoredContent): Promise<boolean> {
  const [archive, readme] = [await findOwn(tx, version, "archive"), await findOwn(tx, version, "readme")];
  if (archive?.md5 === md5) return false;
  if (await hasRun(tx, version.id)) throw differentArchive();
  for (const content of [archive, readme]) if (content !== undefined) await orphanContent(tx, content.id);
  return true;
}

const findOwn = (tx: Tx, { id }: GrantedConfiguration, kind: ConfigurationContentKind) =>
  findContent(tx, ofConfigurationVersion(id), kind);

async function requireSameArchive(context: Context, version: GrantedConfiguration, bytes: ArchiveBytes): Promise<void> {
  const archive = await findOwn(context.database.reader, version, "archive");
  if ((await streamDigest(bytes, archiveLimit)) !== archive?.md5) throw differentArchive();
}

const differentArchive = (): AppError =>
  conflict(
    "This configuration version already has a different archive, and a run uses it. Create a new configuration version.",
  );

const statusesWithUpload: readonly string[] = ["pending", "fetching", "uploaded"];

function requireUploadable({ status }: GrantedConfiguration): void {
  if (!statusesWithUpload.includes(status))
    throw conflict(
      `The configuration version is ${status} and does not accept an archive any more. Create a new configuration version.`,
    );
}

async function loadVersion(
  tx: Tx,
  by: ConfigurationUploadGrant | Capability<"job">,
  id: string,
  lock = false,
): Promise<GrantedConfiguration> {
  const version = await findAwaitedConfiguration(tx, by, id, lock);
  if (version === undefined) throw notFound("upload");
  return version;
}

/** The actor is the creator of the version: only they received the URL. */
async function recordUpload(tx: Tx, context: Context, version: GrantedConfiguration, after: object): Promise<void> {
  const actor = creatorOf(version) ?? context.actor;
  await recordEvent(
    tx,
    { ...context, actor },
    {
      organizationId: version.organizationId,
      verb: "upload",
      subject: { type: "configuration-versions", id: version.id },
      before: { status: version.status },
      after,
    },
  );
}

interface ConfigurationUploader {
  readonly caller: Context;
  readonly workspace: Granted<WorkspaceView, "can-queue-run">;
}

/** Undefined for version control. Throws `forbidden` or `not-found` if the creator has lost the permission. */
async function loadUploader(
  tx: Tx,
  context: Context,
  { createdById, createdByTokenId, workspaceId }: GrantedConfiguration,
): Promise<ConfigurationUploader | undefined> {
  if (createdById === null) return undefined;
  const actor = await actorOfToken(tx, createdByTokenId ?? "");
  if (actor === undefined)
    throw forbidden(
      "This upload URL was created with a token that has expired or was revoked. Create the configuration version again with a valid token.",
    );
  const caller = { ...context, actor };
  const isReadOnly = tx === context.database.reader;
  const workspace = await loadWorkspace(tx, caller, { workspaceId }, !isReadOnly && "change");
  return { caller, workspace: authorizeWorkspace(workspace, "can-queue-run") };
}

/** A commit from version control, which has no uploader, is always approved; an upload, if its user can apply. */
const approvalBy = (uploader: ConfigurationUploader | undefined): string | null =>
  uploader === undefined || workspacePermissions(uploader.workspace)["can-queue-apply"] ? now() : null;

type QueuedRunResult = { readonly run: string } | { readonly run: null; readonly reason: string } | undefined;

/** A run that can't be created does not fail the upload. Version control queues its own runs. */
async function queueRun(
  tx: Tx,
  version: GrantedConfiguration,
  uploader: ConfigurationUploader | undefined,
): Promise<QueuedRunResult> {
  if (version.autoQueueRuns === 0 || uploader === undefined) return undefined;
  const input = {
    configurationVersionId: version.id,
    source: "tfe-configuration-version",
    triggerReason: "manual",
  } as const;
  try {
    const run = await createRun(tx, uploader.caller, uploader.workspace, input);
    return { run: run.id };
  } catch (error) {
    // `invalid` is raised before anything is written.
    if (error instanceof AppError && error.code === "invalid") return { run: null, reason: error.message };
    throw error;
  }
}
