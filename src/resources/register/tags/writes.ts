/** What workspaces have done to tags when they are made and when they go. */
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

/**
 * The tags that are meant; those that are named and not there are made. Raises `invalid` for an id that the organization does
 * not have, and for a name that no tag can have.
 */
export async function resolveTags(
  tx: Tx,
  carrier: Carrier,
  items: readonly TagItem[],
  pointer: string,
): Promise<FoundTag[]> {
  refuseIfAny(nameFaults(items, pointer));
  const names = [...new Set(items.flatMap((item) => item.attributes?.name ?? []))];
  // Where there is a name, it counts.
  const byId = items.map((item) => (item.attributes?.name === undefined ? { id: item.id ?? "" } : {}));
  const found = await makeAndLock(tx, carrier, { ids: byId.flatMap(({ id }) => id ?? []), names });
  refuseIfAny(unknownIds(byId, new Set(found.map((tag) => tag.id)), pointer));
  return found;
}

/** A tag that is there when we look may be gone, with its last workspace, before we hold it. Raises `Overtaken` then. */
async function makeAndLock(tx: Tx, carrier: Carrier, wanted: { ids: string[]; names: string[] }) {
  await insertTags(tx, carrier, wanted.names);
  const found = await lockTags(tx, carrier.organizationId, wanted);
  const names = new Set(found.map((tag) => tag.name));
  // Not made again here: one that somebody else is just making would be waited for while others are held.
  if (!wanted.names.every((name) => names.has(name))) throw new Overtaken("a tag went while it was being added");
  return found;
}

/** Gives a new workspace its tags, and its row their names. Raises `invalid`. */
export async function tagNewWorkspace(tx: Tx, workspace: NewCarrier, items: readonly TagItem[]): Promise<void> {
  if (items.length === 0) return;
  const found = await resolveTags(tx, workspace, items, "/data/relationships/tags/data");
  refuseTooMany("", found.length);
  const ids = found.map(({ id }) => id);
  await linkTags(tx, [workspace], ids);
  await countTagsUp(tx, ids);
  await setFirstTagNames(tx, workspace, joinedNames(found));
}

/** Before a workspace goes: holds its tags, so that they can be counted anew when it is gone. */
export async function holdTags(
  tx: Tx,
  workspace: Pick<WorkspaceTable, "organizationId" | "tagNames">,
): Promise<string[]> {
  const names = namesIn(workspace.tagNames);
  if (names.length === 0) return [];
  const carried = await lockTags(tx, workspace.organizationId, { names });
  return carried.map((tag) => tag.id);
}

/** After it is gone: those that were only its own go too. */
export async function releaseTags(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<void> {
  if (tagIds.length > 0) await recountTags(tx, organizationId, tagIds);
}
