/** Plans a batch update of one owner's variables. No I/O. */
import type { VarTable } from "../../../database/schema/variables.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import type { UpdateAttributes } from "../../../jsonapi/define.ts";
import { parseBody } from "../../../jsonapi/input.ts";
import { AppError, attributeFault, type Fault, throwIfInvalid } from "../../../kernel/errors.ts";
import { changesOf } from "../../shared/changes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { vars, type VarView } from "./definition.ts";
import { changeFaults, isRenamed, keyTaken, replacementValue, valuesBytesMax } from "./rules.ts";

export interface BatchChange {
  readonly id: string;
  readonly attributes: UpdateAttributes<typeof vars>;
}

export function parseBatchChanges(items: readonly { readonly id: string }[]): BatchChange[] {
  const faults: Fault[] = [];
  const seen = new Set<string>();
  const changes = items.map((item, index): BatchChange => {
    if (seen.has(item.id))
      faults.push({ pointer: `/data/${index}/id`, detail: `Variable ${item.id} is listed more than once` });
    seen.add(item.id);
    try {
      const { attributes } = parseBody(vars, "update", { data: item }) as Pick<BatchChange, "attributes">;
      return { id: item.id, attributes };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      faults.push(...error.faults.map((fault) => atItem(fault, index)));
      return { id: item.id, attributes: {} };
    }
  });
  throwIfInvalid(faults);
  return changes;
}

const atItem = (fault: Fault, index: number): Fault => ({
  ...fault,
  ...(fault.pointer !== undefined && { pointer: fault.pointer.replace("/data", `/data/${index}`) }),
});

export interface PlannedUpdate {
  readonly before: VarView;
  readonly after: VarView;
  readonly columns: Partial<Omit<VarTable, "value">>;
  /** Not encrypted. Undefined if the value doesn't change. */
  readonly value: string | undefined;
}

/** `rows` are all of the owner's variables. A key can't move between them: the database checks row by row. Throws `invalid`. */
export function planUpdates(
  rows: readonly VarView[],
  changes: readonly BatchChange[],
  valueBytes: ReadonlyMap<string, number>,
  noun: string,
): PlannedUpdate[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const taken = new Set(rows.map(nameOf));
  const bytes = new Map(valueBytes);
  const faults: Fault[] = [];
  const updates = changes.flatMap(({ id, attributes }, index): PlannedUpdate[] => {
    const before = byId.get(id);
    if (before === undefined) {
      faults.push({
        pointer: `/data/${index}/id`,
        detail: `Variable ${id} does not exist in this ${noun}. Check the id.`,
      });
      return [];
    }
    const columns = changesOf<Omit<VarTable, "value">>(before, changedColumns(vars, attributes)) ?? {};
    const value = replacementValue(before, attributes.value);
    const changed = afterUpdate<VarView>(before, columns);
    const after = { ...changed, value: changed.sensitive === 1 ? null : (value ?? before.value) };
    const isKeyConflict = isRenamed(before, after) && taken.has(nameOf(after));
    faults.push(
      ...[...changeFaults(before, after), ...(isKeyConflict ? [keyTaken()] : [])].map((fault) => atItem(fault, index)),
    );
    taken.add(nameOf(after));
    if (value !== undefined) bytes.set(id, Buffer.byteLength(value));
    return [{ before, after, columns, value }];
  });
  if (bytes.values().reduce((sum, length) => sum + length, 0) > valuesBytesMax)
    faults.push(
      attributeFault(
        "value",
        `Value is too large: all values of a ${noun} together can have at most ${valuesBytesMax} bytes`,
      ),
    );
  throwIfInvalid(faults);
  return updates;
}

const nameOf = ({ category, key }: Pick<VarView, "category" | "key">) => `${category}/${key}`;
