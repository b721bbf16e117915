/** Changes of tags when workspaces are tagged, created and deleted. */
import { RetryTransaction, type Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { setFirstTagNames } from "../workspaces/writes.ts";
import { joinTagNames, nameFaults, splitTagNames, refuseTooManyTags, type TagItem, unknownIdFaults } from "./rules.ts";
import {
  type TaggableWorkspace,
  incrementTagCounts,
  insertTags,
  linkTags,
  lockTags,
  type NewTaggableWorkspace,
  recountTags,
} from "./store.ts";

export interface ResolvedTag {
  readonly id: string;
  readonly name: string;
}

/** Throws `invalid` for unknown ids and invalid names. */
export async function resolveTags(
  tx: Tx,
  workspace: TaggableWorkspace,
  items: readonly TagItem[],
  pointer: string,
): Promise<ResolvedTag[]> {
  throwIfInvalid(nameFaults(items, pointer));
  const names = [...new Set(items.flatMap((item) => item.attributes?.name ?? []))];
  // The name takes precedence over the id.
  const byId = items.map((item) => (item.attributes?.name === undefined ? { id: item.id ?? "" } : {}));
  const resolved = await insertAndLock(tx, workspace, { ids: byId.flatMap(({ id }) => id ?? []), names });
  throwIfInvalid(unknownIdFaults(byId, new Set(resolved.map((tag) => tag.id)), pointer));
  return resolved;
}

/** Throws `RetryTransaction` if another transaction deletes a tag with its last workspace before this one locks it. */
async function insertAndLock(tx: Tx, workspace: TaggableWorkspace, requested: { ids: string[]; names: string[] }) {
  await insertTags(tx, workspace, requested.names);
  const resolved = await lockTags(tx, workspace.organizationId, requested);
  const names = new Set(resolved.map((tag) => tag.name));
  // Inserting again here could wait for another transaction while holding locks, and deadlock.
  if (!requested.names.every((name) => names.has(name)))
    throw new RetryTransaction("a tag was deleted while it was being added");
  return resolved;
}

/** Throws `invalid`. */
export async function tagNewWorkspace(
  tx: Tx,
  workspace: NewTaggableWorkspace,
  items: readonly TagItem[],
): Promise<void> {
  if (items.length === 0) return;
  const resolved = await resolveTags(tx, workspace, items, "/data/relationships/tags/data");
  refuseTooManyTags("", resolved.length);
  const ids = resolved.map(({ id }) => id);
  await linkTags(tx, [workspace], ids);
  await incrementTagCounts(tx, ids);
  await setFirstTagNames(tx, workspace, joinTagNames(resolved));
}

/** Call it before deleting a workspace, and `recountReleasedTags` after. */
export async function lockTagsOfWorkspace(
  tx: Tx,
  workspace: Pick<WorkspaceTable, "organizationId" | "tagNames">,
): Promise<string[]> {
  const names = splitTagNames(workspace.tagNames);
  if (names.length === 0) return [];
  const lockedTags = await lockTags(tx, workspace.organizationId, { names });
  return lockedTags.map((tag) => tag.id);
}

export async function recountReleasedTags(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<void> {
  if (tagIds.length > 0) await recountTags(tx, organizationId, tagIds);
}
