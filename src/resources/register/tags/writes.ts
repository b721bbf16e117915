/** Changes of tags when workspaces are tagged, created and deleted. */
import { Overtaken, type Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { setFirstTagNames } from "../workspaces/writes.ts";
import { joinedNames, nameFaults, namesIn, refuseTooMany, type TagItem, unknownIds } from "./rules.ts";
import { type Carrier, countTagsUp, insertTags, linkTags, lockTags, type NewCarrier, recountTags } from "./store.ts";

export interface FoundTag {
  readonly id: string;
  readonly name: string;
}

/** Resolves the requested tags and creates missing names. Raises `invalid` for unknown ids and invalid names. */
export async function resolveTags(
  tx: Tx,
  carrier: Carrier,
  items: readonly TagItem[],
  pointer: string,
): Promise<FoundTag[]> {
  refuseIfAny(nameFaults(items, pointer));
  const names = [...new Set(items.flatMap((item) => item.attributes?.name ?? []))];
  // A name takes precedence over an id.
  const byId = items.map((item) => (item.attributes?.name === undefined ? { id: item.id ?? "" } : {}));
  const resolved = await makeAndLock(tx, carrier, { ids: byId.flatMap(({ id }) => id ?? []), names });
  refuseIfAny(unknownIds(byId, new Set(resolved.map((tag) => tag.id)), pointer));
  return resolved;
}

/** Another transaction can delete a tag with its last workspace before this one locks it. Raises `Overtaken` then. */
async function makeAndLock(tx: Tx, carrier: Carrier, requested: { ids: string[]; names: string[] }) {
  await insertTags(tx, carrier, requested.names);
  const resolved = await lockTags(tx, carrier.organizationId, requested);
  const names = new Set(resolved.map((tag) => tag.name));
  // Inserting again here could wait for another transaction while holding locks, and deadlock.
  if (!requested.names.every((name) => names.has(name)))
    throw new Overtaken("a tag was deleted while it was being added");
  return resolved;
}

/** Raises `invalid`. */
export async function tagNewWorkspace(tx: Tx, workspace: NewCarrier, items: readonly TagItem[]): Promise<void> {
  if (items.length === 0) return;
  const resolved = await resolveTags(tx, workspace, items, "/data/relationships/tags/data");
  refuseTooMany("", resolved.length);
  const ids = resolved.map(({ id }) => id);
  await linkTags(tx, [workspace], ids);
  await countTagsUp(tx, ids);
  await setFirstTagNames(tx, workspace, joinedNames(resolved));
}

/** Call it before deleting a workspace: locks its tags, so that they can be recounted after. */
export async function holdTags(
  tx: Tx,
  workspace: Pick<WorkspaceTable, "organizationId" | "tagNames">,
): Promise<string[]> {
  const names = namesIn(workspace.tagNames);
  if (names.length === 0) return [];
  const carried = await lockTags(tx, workspace.organizationId, { names });
  return carried.map((tag) => tag.id);
}

/** Call it after deleting the workspace: deletes tags that no other workspace has. */
export async function releaseTags(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<void> {
  if (tagIds.length > 0) await recountTags(tx, organizationId, tagIds);
}
