/**
 * Background jobs for configuration versions: expire uploads that never arrived, and delete archives by retention policy. One transaction per
 * version; never touches an archive that a run may still need.
 */
import type { Tx } from "../../../database/database.ts";
import { now } from "../../../kernel/time.ts";
import { type DeletingPolicy, underPolicies } from "../../register/data-retention-policies/reads.ts";
import { abandonContents } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import type { JobWork } from "../../shared/job-work.ts";
import { ofConfigurationVersion } from "./rules.ts";
import {
  type ArrivingVersion,
  findArriving,
  findAwaitedTooLong,
  findOutlived,
  hasRunInProgress,
  type Outlived,
  updateConfigurationVersion,
} from "./store.ts";
import { noteFault } from "./upload.ts";
import { recordMove } from "./writes.ts";

const uploadExpired = {
  word: "upload_expired",
  message:
    "The configuration was not uploaded before its upload URL expired. Create a new configuration version, and upload the archive to its upload URL.",
} as const;

export async function giveUpUnsent({ context, capability, signal, step }: JobWork): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const id = await findAwaitedTooLong(context.database.reader, now());
    if (id === undefined) break;
    await step((tx) => noteFault(tx, context, capability, id, uploadExpired));
    handled += 1;
  }
  return handled;
}

/** Deletes archives by the retention policies. The versions stay, because their runs refer to them. */
export const removeOutlivedConfigurations = (work: JobWork): Promise<number> =>
  underPolicies(work, (policy, before) => removeOlder(work, policy, before));

async function removeOlder(
  { context, capability, signal, step }: JobWork,
  policy: DeletingPolicy,
  before: string,
): Promise<number> {
  let handled = 0;
  let last: Outlived | undefined;
  while (!signal.aborted) {
    const next = await findOutlived(context.database.reader, policy, before, last);
    if (next === undefined) break;
    last = next;
    handled += await step((tx) => remove(tx, context, capability, next.id));
  }
  return handled;
}

/** Checks again under the lock: a run with it may have been created. */
async function remove(tx: Tx, context: Context, by: JobWork["capability"], id: string): Promise<number> {
  const version = await findArriving(tx, by, id, true);
  if (version === undefined || !isDeletable(version) || (await hasRunInProgress(tx, id))) return 0;
  await updateConfigurationVersion(tx, by, id, { status: "backing_data_permanently_deleted", hasReadme: 0 });
  await abandonContents(tx, ofConfigurationVersion(id));
  await recordMove(tx, context, version, "permanently-delete-backing-data", "backing_data_permanently_deleted");
  return 1;
}

const isDeletable = ({ id, status, currentConfigurationVersionId }: ArrivingVersion): boolean =>
  (status === "uploaded" || status === "backing_data_soft_deleted") && id !== currentConfigurationVersionId;
