/** Configurations that come from version control, which fetches them by itself: without a request, and by nobody. */
import type { Tx } from "../../../database/database.ts";
import type { ConfigurationVersionTable } from "../../../database/schema/runs.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { type Commit, newConfigurationVersion, type NewConfiguration } from "./rules.ts";
import { insertConfigurationVersion, nextPosition } from "./store.ts";
import { noteFault, receiveArchive } from "./upload.ts";

export type { Commit };

/** A commit that is going to be fetched, in the caller's transaction; the workspace is held. Nobody made it. */
export async function announceCommit(
  tx: Tx,
  context: Context,
  workspace: { readonly id: string; readonly organizationId: string },
  commit: Commit,
  attributes: NewConfiguration = {},
): Promise<ConfigurationVersionTable> {
  const facts = { workspace, position: await nextPosition(tx, workspace.id), createdAt: now() };
  const row = newConfigurationVersion(attributes, facts, context, commit);
  await insertConfigurationVersion(tx, "version control", row);
  const { id, organizationId, source, status } = row;
  const after = { workspace: workspace.id, source, status, "commit-sha": commit.ingress.commitSha };
  const subject = { type: "configuration-versions", id };
  await recordEvent(tx, context, { organizationId, verb: "create", subject, after });
  return row;
}

/** Its archive, as it was packed. Raises `invalid` or `too-large` for one that is not taken, which the version then tells too. */
export async function receiveCommit(context: Context, id: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await receiveArchive(context, "version control", id, bytes);
}

/** It could not be fetched: a word for machines, and a sentence. */
export async function noteCommitFailed(context: Context, id: string, word: string, sentence: string): Promise<void> {
  await context.database.write((tx) => noteFault(tx, context, "version control", id, { word, message: sentence }));
}
