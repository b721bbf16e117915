/** What workspaces have done to tags when they are made and when they go. */
import { sql } from "kysely";
import { Overtaken, type Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { invalid, type Fault } from "../../../kernel/errors.ts";
import { tagName } from "./definition.ts";
import { lockTags, insertTags, linkTags, recountTags } from "./store.ts";

/** Names and ids of tags, as callers send them. */
export interface TagItem {
  readonly id?: string | undefined;
  readonly attributes?: { readonly name?: string | undefined } | undefined;
}

/**
 * The ids of the tags that are meant; those that are named and not there are made. Raises `invalid` for an id that the
 * organization does not have, and for a name that no tag can have.
 */
export async function resolveTags(
  tx: Tx,
  organizationId: string,
  items: readonly TagItem[],
  pointer: string,
): Promise<{ id: string; name: string }[]> {
  const names = [...new Set(items.flatMap((item) => item.attributes?.name ?? []))];
  const ids = items.flatMap((item) => (item.attributes?.name === undefined ? (item.id ?? []) : []));
  const faults: Fault[] = items.flatMap((item, index) => {
    const parsed = item.attributes?.name === undefined ? undefined : tagName.safeParse(item.attributes.name);
    return parsed?.success === false
      ? [{ pointer: `${pointer}/${index}/attributes/name`, detail: `Name ${parsed.error.issues[0]?.message}` }]
      : [];
  });
  if (faults.length > 0) throw invalid(faults);
  const found = await makeAndLock(tx, organizationId, { ids, names });
  const known = new Set(found.map((tag) => tag.id));
  const unknown = items.flatMap((item, index): Fault[] =>
    item.attributes?.name === undefined && !known.has(item.id ?? "")
      ? [{ pointer: `${pointer}/${index}/id`, detail: `Tag '${item.id}' does not exist in this organization` }]
      : [],
  );
  if (unknown.length > 0) throw invalid(unknown);
  return found;
}

/** So many that nobody misses one, and so few that a page of workspaces stays a page. */
export const tagsMax = 250;

/** Raises `invalid` where a workspace would carry too many. */
export function refuseTooMany(tagNames: string, added: number): void {
  const count = (tagNames === "" ? 0 : tagNames.split(",").length) + added;
  if (count > tagsMax)
    throw invalid([
      { pointer: "/data", detail: `A workspace carries at most ${tagsMax} tags; this would make ${count}` },
    ]);
}

/** A tag that is there when we look may be gone, with its last workspace, before we hold it. Raises `Overtaken` then. */
async function makeAndLock(tx: Tx, organizationId: string, wanted: { ids: string[]; names: string[] }) {
  await insertTags(tx, organizationId, wanted.names);
  const found = await lockTags(tx, organizationId, wanted);
  const names = new Set(found.map((tag) => tag.name));
  // Not made again here: one that somebody else is just making would be waited for while others are held.
  if (!wanted.names.every((name) => names.has(name))) throw new Overtaken("a tag went while it was being added");
  return found;
}

/** Gives a new workspace its tags; returns their names as the workspace's row holds them. */
export async function tagNewWorkspace(
  tx: Tx,
  workspace: Pick<WorkspaceTable, "id" | "organizationId">,
  items: readonly TagItem[],
): Promise<string> {
  if (items.length === 0) return "";
  const found = await resolveTags(tx, workspace.organizationId, items, "/data/relationships/tags/data");
  refuseTooMany("", found.length);
  const tagIds = found.map((tag) => tag.id);
  await linkTags(tx, workspace.organizationId, [workspace.id], tagIds);
  await sql`update tags set instance_count = instance_count + 1, version = version + 1 where ${tx.dialect.isOneOf(sql.ref("id"), tagIds)}`.execute(
    tx.db,
  );
  const tagNames = found
    .map((tag) => tag.name)
    .toSorted()
    .join(",");
  await tx.db.updateTable("workspaces").set({ tagNames }).where("id", "=", workspace.id).execute();
  return tagNames;
}

/** Before a workspace goes: holds its tags, so that they can be counted anew when it is gone. */
export async function holdTags(
  tx: Tx,
  workspace: Pick<WorkspaceTable, "organizationId" | "tagNames">,
): Promise<string[]> {
  if (workspace.tagNames === "") return [];
  const carried = await lockTags(tx, workspace.organizationId, { names: workspace.tagNames.split(",") });
  return carried.map((tag) => tag.id);
}

/** After it is gone: those that were only its own go too. */
export async function releaseTags(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<void> {
  if (tagIds.length > 0) await recountTags(tx, organizationId, tagIds);
}
