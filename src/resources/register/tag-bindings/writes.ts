/** What workspaces and projects have done to their key-value tags. */
import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../../database/database.ts";
import type { TagBindingTable } from "../../../database/schema/workspaces.ts";
import { type Fault, invalid, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { type Bound, deleteBindings, findBindings, keysFixedByProject, placeOf, upsertBindings } from "./store.ts";

const bindingsMax = 25;

export interface BindingItem {
  readonly attributes: { readonly key: string; readonly value?: string | undefined };
}

/** Bindings as the audit trail tells them. */
export interface ToldBindings {
  readonly "tag-bindings": Readonly<Record<string, string>>;
}

/**
 * Replaces all bindings by those that are sent; an empty list clears them, and undefined leaves them alone. Gives what they
 * were and are, or undefined when nothing changes. Raises `invalid`.
 */
export async function bindTags(
  tx: Tx,
  bound: Bound,
  items: readonly BindingItem[] | undefined,
): Promise<{ before: ToldBindings; after: ToldBindings } | undefined> {
  if (items === undefined) return undefined;
  const pointer = "/data/relationships/tag-bindings/data";
  refuseBindings(items, pointer);
  if ("workspace" in bound && items.length > 0) await refuseFixed(tx, bound.workspace.id, items, pointer);
  const before = told(await bindingsOf(tx, bound));
  const rows = rowsOf(bound, items);
  const after = told(rows);
  if (isDeepStrictEqual(before, after)) return undefined;
  await deleteBindings(tx, bound);
  await upsertBindings(tx, bound, rows);
  return { before, after };
}

const bindingsOf = (tx: Tx, bound: Bound) =>
  findBindings(tx, "workspace" in bound ? { workspaceId: bound.workspace.id } : { projectId: bound.project.id });

/** In the order of their keys. */
export function told(bindings: readonly Pick<TagBindingTable, "key" | "value">[]): ToldBindings {
  const sorted = bindings.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  return { "tag-bindings": Object.fromEntries(sorted.map(({ key, value }) => [key, value])) };
}

/** Adds bindings beside those that are there; gives all of the bindings before, and the sent ones after. Raises `invalid`. */
export async function addBindings(
  tx: Tx,
  bound: Bound,
  items: readonly BindingItem[],
): Promise<{ before: TagBindingTable[]; after: TagBindingTable[] }> {
  refuseBindings(items, "/data");
  const before = await bindingsOf(tx, bound);
  const known = new Map(before.map((binding) => [binding.key, binding]));
  const added = items.filter((item) => !known.has(item.attributes.key));
  if (before.length + added.length > bindingsMax) throw invalid([tooMany("/data", before.length + added.length)]);
  if ("workspace" in bound) await refuseFixed(tx, bound.workspace.id, items, "/data");
  const rows = rowsOf(bound, items);
  await upsertBindings(tx, bound, rows);
  return { before, after: rows.map((row) => ({ ...row, id: known.get(row.key)?.id ?? row.id })) };
}

/** Raises `invalid` for too many, and for a key that is sent twice. */
function refuseBindings(items: readonly BindingItem[], pointer: string): void {
  const faults: Fault[] = items.length > bindingsMax ? [tooMany(pointer, items.length)] : [];
  const seen = new Set<string>();
  items.forEach(({ attributes: { key } }, index) => {
    if (seen.has(key))
      faults.push({ pointer: `${pointer}/${index}/attributes/key`, detail: `Key '${key}' is sent twice` });
    seen.add(key);
  });
  refuseIfAny(faults);
}

function tooMany(pointer: string, count: number): Fault {
  return { pointer, detail: `At most ${bindingsMax} tag bindings can be set; this would make ${count}` };
}

/** Raises `invalid` for keys that are reserved for the project. */
async function refuseFixed(tx: Tx, workspaceId: string, items: readonly BindingItem[], pointer: string): Promise<void> {
  const fixed = new Set(
    await keysFixedByProject(
      tx,
      workspaceId,
      items.map((item) => item.attributes.key),
    ),
  );
  refuseIfAny(
    items.flatMap(({ attributes: { key } }, index) =>
      fixed.has(key)
        ? [
            {
              pointer: `${pointer}/${index}/attributes/key`,
              detail: `Key '${key}' is reserved: the project's value can't be overridden`,
            },
          ]
        : [],
    ),
  );
}

function rowsOf(bound: Bound, items: readonly BindingItem[]): TagBindingTable[] {
  const createdAt = now();
  return items.map(({ attributes: { key, value = "" } }) => ({
    id: newId("tag-bindings"),
    ...placeOf(bound),
    key,
    value,
    createdAt,
  }));
}
