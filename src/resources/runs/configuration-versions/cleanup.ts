/** Expires missing uploads, and deletes archives by retention policy. Never deletes an archive that a run may still need. */
import type { Tx } from "../../../database/database.ts";
import { now } from "../../../kernel/time.ts";
import { type RetentionPolicy, forEachPolicy } from "../../register/data-retention-policies/reads.ts";
import { abandonContents } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { ofConfigurationVersion } from "./rules.ts";
import {
  type AwaitedConfiguration,
  findAwaitedConfiguration,
  findExpiredUpload,
  findExpiredConfiguration,
  hasRunInProgress,
  type ExpiredConfiguration,
  updateConfigurationVersion,
} from "./store.ts";
import { recordUploadFailure } from "./upload.ts";
import { recordStatusChange } from "./writes.ts";

const uploadExpired = {
  code: "upload_expired",
  message:
    "The configuration was not uploaded before its upload URL expired. Create a new configuration version, and upload the archive to its upload URL.",
} as const;

export async function failExpiredUploads({ context, capability, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const id = await findExpiredUpload(context.database.reader, now());
    if (id === undefined) break;
    await step((tx) => recordUploadFailure(tx, context, capability, id, uploadExpired));
    handled += 1;
  }
  return handled;
}

/** The versions stay, because their runs refer to them. */
export const deleteExpiredArchives = (job: JobContext): Promise<number> =>
  forEachPolicy(job, (policy, before) => deleteOlderArchives(job, policy, before));

async function deleteOlderArchives(
  { context, capability, signal, step }: JobContext,
  policy: RetentionPolicy,
  before: string,
): Promise<number> {
  let handled = 0;
  let last: ExpiredConfiguration | undefined;
  while (!signal.aborted) {
    const next = await findExpiredConfiguration(context.database.reader, policy, before, last);
    if (next === undefined) break;
    last = next;
    handled += await step((tx) => deleteArchive(tx, context, capability, next.id));
  }
  return handled;
}

/** A run with it may have been created before the lock was acquired. */
async function deleteArchive(tx: Tx, context: Context, by: JobContext["capability"], id: string): Promise<number> {
  const version = await findAwaitedConfiguration(tx, by, id, true);
  if (version === undefined || !isDeletable(version) || (await hasRunInProgress(tx, id))) return 0;
  await updateConfigurationVersion(tx, by, id, { status: "backing_data_permanently_deleted", hasReadme: 0 });
  await abandonContents(tx, ofConfigurationVersion(id));
  await recordStatusChange(tx, context, version, "permanently-delete-backing-data", "backing_data_permanently_deleted");
  return 1;
}

const isDeletable = ({ id, status, currentConfigurationVersionId }: AwaitedConfiguration): boolean =>
  (status === "uploaded" || status === "backing_data_soft_deleted") && id !== currentConfigurationVersionId;
