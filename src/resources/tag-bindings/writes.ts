/** What workspaces and projects have done to their key-value tags. */
import type { Tx } from "../../database/database.ts";
import { invalid, type Fault } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { now } from "../../kernel/time.ts";

export const bindingsMax = 25;

/** Where bindings hang: on a workspace or on a project. */
export type Bound = { readonly organizationId: string } & (
  | { readonly workspaceId: string }
  | { readonly projectId: string }
);

export interface BindingItem {
  readonly attributes: { readonly key: string; readonly value?: string | undefined };
}

/**
 * Replaces all bindings by those that are sent; an empty list clears them, and undefined leaves them alone. Tells whether
 * anything was sent. Raises `invalid`.
 */
export async function bindTags(tx: Tx, bound: Bound, items: readonly BindingItem[] | undefined): Promise<boolean> {
  if (items === undefined) return false;
  refuseBindings(items, "/data/relationships/tag-bindings/data");
  await removeBindings(tx, bound);
  await insertBindings(tx, bound, items);
  return true;
}

/** Raises `invalid` for too many, and for a key that is sent twice. */
export function refuseBindings(items: readonly BindingItem[], pointer: string): void {
  const faults: Fault[] = [];
  if (items.length > bindingsMax)
    faults.push({ pointer, detail: `At most ${bindingsMax} tag bindings can be set; this sends ${items.length}` });
  const seen = new Set<string>();
  items.forEach(({ attributes: { key } }, index) => {
    if (seen.has(key))
      faults.push({ pointer: `${pointer}/${index}/attributes/key`, detail: `Key '${key}' is sent twice` });
    seen.add(key);
  });
  if (faults.length > 0) throw invalid(faults);
}

export async function removeBindings(tx: Tx, bound: Bound): Promise<void> {
  const query = tx.db.deleteFrom("tagBindings");
  await (
    "workspaceId" in bound
      ? query.where("workspaceId", "=", bound.workspaceId)
      : query.where("projectId", "=", bound.projectId)
  ).execute();
}

export async function insertBindings(tx: Tx, bound: Bound, items: readonly BindingItem[]): Promise<void> {
  if (items.length === 0) return;
  const createdAt = now();
  await tx.db
    .insertInto("tagBindings")
    .values(
      items.map(({ attributes: { key, value = "" } }) => ({
        id: newId("tag-bindings"),
        organizationId: bound.organizationId,
        workspaceId: "workspaceId" in bound ? bound.workspaceId : null,
        projectId: "projectId" in bound ? bound.projectId : null,
        key,
        value,
        createdAt,
      })),
    )
    .execute();
}
