/** Background jobs for state versions. They work in short transactions, which delay no writer and can be interrupted. */
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import { now, nowMs } from "../../../../kernel/time.ts";
import { recordEvents } from "../../../shared/audit-events/writes.ts";
import { type RetentionPolicy, forEachPolicy } from "../../../register/data-retention-policies/reads.ts";
import { recordParsedState } from "../../../register/workspaces/writes.ts";
import { StateFileReader } from "../../../../statefile/state-file.ts";
import { newResources } from "../../resources/rules.ts";
import { countResources } from "../../resources/reads.ts";
import { deleteSomeResources, insertResources } from "../../resources/writes.ts";
import { joinOutputIds, newOutputs } from "../../state-version-outputs/rules.ts";
import { insertOutputs } from "../../state-version-outputs/writes.ts";
import { headColumns } from "../arrival/parsing.ts";
import { findContent, readContent, removeAbandonedContents } from "../../../shared/contents/contents.ts";
import { stateVersionOwner } from "../kinds.ts";
import { uploadLifetimeMs } from "../rules.ts";
import { findPreviousVersion } from "../reads.ts";
import {
  deleteVersions,
  discardExpiredUploads,
  findVersionsPastRetention,
  findSuperseded,
  findUnparsed,
  finishParsing,
  finishSuperseded,
  hasOrphanedResources,
  lockUnparsed,
  lockVersion,
} from "./store.ts";
import { recordDiscarded } from "../writes.ts";
import type { JobContext } from "../../../shared/job-context.ts";

const resourcesPerStep = 500;
const versionsPerStep = 100;

/** Steps of one state before smaller states are processed. */
const yieldInterval = 16;

/** Oldest first, with states of half the size or less in between, so that a huge state does not delay them. Throws the last error. */
export async function parseLargeStates(work: JobContext): Promise<number> {
  const { context, signal } = work;
  const inProgress: string[] = [];
  /** Skipped, so that a broken state does not block the others. */
  const failed: string[] = [];
  let handled = 0;
  let failure: unknown;
  const processUpTo = async (bytesMax: number): Promise<void> => {
    while (!signal.aborted) {
      const version = await findUnparsed(context.database.reader, { bytesMax, inProgress, failed });
      if (version === undefined) return;
      inProgress.push(version.id);
      try {
        await parseState(work, version, () => processUpTo(version.size / 2));
        handled += 1;
      } catch (error) {
        failed.push(version.id);
        failure = error;
      }
      inProgress.pop();
    }
  };
  await processUpTo(Number.MAX_SAFE_INTEGER);
  if (failure !== undefined && !signal.aborted) throw failure;
  return handled;
}

async function parseState(
  { context, capability, step, signal }: JobContext,
  version: StateVersionTable,
  processSmaller: () => Promise<void>,
): Promise<void> {
  const content = await findContent(context.database.reader, stateVersionOwner(version.id), "state");
  if (content === undefined) throw new Error(`the state version ${version.id} has no content`);
  const predecessor = await findPreviousVersion(context.database.reader, version);
  const reader = new StateFileReader();
  let unwritten = reader.takeInstances();
  let steps = 0;
  const yieldNow = async () => {
    if (++steps % yieldInterval === 0) await processSmaller();
    signal.throwIfAborted();
  };
  const write = async () => {
    const rows = newResources(version, unwritten.splice(0, resourcesPerStep));
    await step(async (tx) => {
      // The cleanup of a deleted version may have run already, so its rows would remain.
      if (await lockUnparsed(tx, version.id)) await insertResources(tx, capability, rows, predecessor?.id);
    });
    await yieldNow();
  };
  for await (const piece of readContent(context, content)) {
    reader.write(piece);
    // Not `push(...)`: a resource can have more instances than a call can have arguments.
    unwritten = unwritten.concat(reader.takeInstances());
    while (unwritten.length >= resourcesPerStep) await write();
    await yieldNow();
  }
  const file = reader.end();
  unwritten = unwritten.concat(reader.takeInstances());
  while (unwritten.length > 0) await write();
  // `outputIds` is set if the outputs were written with the version.
  const outputs = version.outputIds === "" ? newOutputs(context.vault, version, file.outputs) : [];
  await step(async (tx) => {
    if (!(await lockUnparsed(tx, version.id))) return;
    await insertOutputs(tx, capability, outputs);
    const outputIds = version.outputIds || joinOutputIds(outputs);
    const parsed = { resourceCount: await countResources(tx, version.id), outputIds };
    await finishParsing(tx, capability, version.id, { ...headColumns(file), ...parsed, resourcesProcessed: 1 });
    await recordParsedState(tx, capability, version, parsed);
  });
}

/** Discards versions that were never uploaded, and removes the contents and resources of deleted versions. */
export async function removeAbandonedUploads(work: JobContext): Promise<number> {
  const { database } = work.context;
  const discarded = await discardExpired(work);
  const before = new Date(nowMs() - uploadLifetimeMs).toISOString();
  const removeOrphans = async (versionId: string) => {
    if (!(await hasOrphanedResources(database.reader, versionId))) return;
    await removeResources(work, versionId);
  };
  return discarded + (await removeAbandonedContents(database, work, before, removeOrphans));
}

async function removeResources(
  { capability, step }: JobContext,
  versionId: string,
  lock: (tx: Tx, versionId: string) => Promise<void> = async () => {},
): Promise<void> {
  let next: string | undefined = "";
  do {
    const some: { after: string; limit: number } = { after: next, limit: resourcesPerStep };
    next = await step(async (tx) => {
      await lock(tx, versionId);
      return deleteSomeResources(tx, capability, versionId, some);
    });
  } while (next !== undefined);
}

async function discardExpired({ context, capability, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  for (let found = versionsPerStep; found === versionsPerStep && !signal.aborted; handled += found) {
    found = await step(async (tx) => {
      const expired = await discardExpiredUploads(tx, capability, now(), versionsPerStep);
      await recordDiscarded(tx, context, expired);
      return expired.length;
    });
  }
  return handled;
}

export const enforceRetention = (work: JobContext): Promise<number> =>
  forEachPolicy(work, (policy, before) => enforce(work, policy, before));

async function enforce(
  { context, capability, signal, step }: JobContext,
  policy: RetentionPolicy,
  before: string,
): Promise<number> {
  let handled = 0;
  for (let found = versionsPerStep; found === versionsPerStep && !signal.aborted; handled += found) {
    found = await step(async (tx) => {
      const expired = await findVersionsPastRetention(tx, policy, before, versionsPerStep);
      await deleteVersions(
        tx,
        capability,
        expired.map((version) => version.id),
      );
      await recordEvents(tx, context, expired.map(removalEvent));
      return expired.length;
    });
  }
  return handled;
}

function removalEvent({ id, organizationId, workspaceId, serial, createdAt }: StateVersionTable) {
  const before = { workspace: workspaceId, serial, "created-at": createdAt };
  return { organizationId, verb: "delete", subject: { type: "state-versions", id }, before };
}

/** The versions keep the summary of their resources. */
export async function removeSupersededResources(work: JobContext): Promise<number> {
  const { context, capability, signal, step } = work;
  let handled = 0;
  while (!signal.aborted) {
    const id = await findSuperseded(context.database.reader);
    if (id === undefined) break;
    await removeResources(work, id, lockVersion);
    await step((tx) => finishSuperseded(tx, capability, id));
    handled += 1;
  }
  return handled;
}
