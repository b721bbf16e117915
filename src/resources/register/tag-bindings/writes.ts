/** Changes of key-value tags, alone or together with their workspace or project. */
import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../../database/database.ts";
import type { TagBindingTable } from "../../../database/schema/workspaces.ts";
import { type Fault, invalid, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import {
  type BindingOwner,
  deleteBindings,
  findBindings,
  keysFixedByProject,
  ownerColumns,
  upsertBindings,
} from "./store.ts";

const bindingsMax = 25;

export interface TagBindingItem {
  readonly attributes: { readonly key: string; readonly value?: string | undefined };
}

export interface AuditedBindings {
  readonly "tag-bindings": Readonly<Record<string, string>>;
}

/** Undefined keeps all bindings. Returns undefined if nothing changed. Throws `invalid`. */
export async function replaceBindings(
  tx: Tx,
  owner: BindingOwner,
  items: readonly TagBindingItem[] | undefined,
): Promise<{ before: AuditedBindings; after: AuditedBindings } | undefined> {
  if (items === undefined) return undefined;
  const pointer = "/data/relationships/tag-bindings/data";
  refuseInvalidBindings(items, pointer);
  if ("workspace" in owner && items.length > 0) await refuseReservedKeys(tx, owner.workspace.id, items, pointer);
  const before = auditedBindings(await bindingsOf(tx, owner));
  const rows = rowsOf(owner, items);
  const after = auditedBindings(rows);
  if (isDeepStrictEqual(before, after)) return undefined;
  await deleteBindings(tx, owner);
  await upsertBindings(tx, owner, rows);
  return { before, after };
}

const bindingsOf = (tx: Tx, owner: BindingOwner) =>
  findBindings(tx, "workspace" in owner ? { workspaceId: owner.workspace.id } : { projectId: owner.project.id });

export function auditedBindings(bindings: readonly Pick<TagBindingTable, "key" | "value">[]): AuditedBindings {
  const sorted = bindings.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  return { "tag-bindings": Object.fromEntries(sorted.map(({ key, value }) => [key, value])) };
}

/** Returns all bindings from before and the sent ones. Throws `invalid`. */
export async function addBindings(
  tx: Tx,
  owner: BindingOwner,
  items: readonly TagBindingItem[],
): Promise<{ before: TagBindingTable[]; after: TagBindingTable[] }> {
  refuseInvalidBindings(items, "/data");
  const before = await bindingsOf(tx, owner);
  const known = new Map(before.map((binding) => [binding.key, binding]));
  const added = items.filter((item) => !known.has(item.attributes.key));
  if (before.length + added.length > bindingsMax)
    throw invalid([tooManyBindingsFault("/data", before.length + added.length)]);
  if ("workspace" in owner) await refuseReservedKeys(tx, owner.workspace.id, items, "/data");
  const rows = rowsOf(owner, items);
  await upsertBindings(tx, owner, rows);
  return { before, after: rows.map((row) => ({ ...row, id: known.get(row.key)?.id ?? row.id })) };
}

function refuseInvalidBindings(items: readonly TagBindingItem[], pointer: string): void {
  const faults: Fault[] = items.length > bindingsMax ? [tooManyBindingsFault(pointer, items.length)] : [];
  const seen = new Set<string>();
  items.forEach(({ attributes: { key } }, index) => {
    if (seen.has(key))
      faults.push({ pointer: `${pointer}/${index}/attributes/key`, detail: `Key '${key}' appears more than once` });
    seen.add(key);
  });
  throwIfInvalid(faults);
}

function tooManyBindingsFault(pointer: string, count: number): Fault {
  return { pointer, detail: `At most ${bindingsMax} tag bindings can be set; the request would result in ${count}` };
}

async function refuseReservedKeys(
  tx: Tx,
  workspaceId: string,
  items: readonly TagBindingItem[],
  pointer: string,
): Promise<void> {
  const fixed = new Set(
    await keysFixedByProject(
      tx,
      workspaceId,
      items.map((item) => item.attributes.key),
    ),
  );
  throwIfInvalid(
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

function rowsOf(owner: BindingOwner, items: readonly TagBindingItem[]): TagBindingTable[] {
  const createdAt = now();
  return items.map(({ attributes: { key, value = "" } }) => ({
    id: newId("tag-bindings"),
    ...ownerColumns(owner),
    key,
    value,
    createdAt,
  }));
}
