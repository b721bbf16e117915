/** Pure rules of variables: what a creation stores, what can't be changed, how many there may be. */
import type { VarTable } from "../../../database/schema/variables.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { keyFaults, type Named, vars, varsMax, type VarView } from "./definition.ts";

export const valuesBytesMax = 8 * 1024 * 1024;

/** What a variable's value is sealed for, so that it can't be moved to another row. */
export const valueOwner = (id: string): string => `vars/${id}/value`;

type Identity = Pick<VarTable, "id" | "organizationId" | "workspaceId" | "varsetId" | "createdAt">;

/** The row without its value, which is sealed for the row's id. */
export function newVar(attributes: CreateAttributes<typeof vars>, identity: Identity): Omit<VarTable, "value"> {
  return { ...createdColumns(vars, attributes), ...identity, version: 1 };
}

export const isRenamed = (before: Named, after: Named): boolean =>
  before.key !== after.key || before.category !== after.category;

/**
 * The value to store; undefined where it stays. A sensitive one is never the same, because the view does not have it: that
 * nothing was replaced would tell that a guess was right.
 */
export function replacement({ value }: Pick<VarView, "value">, sent: string | undefined): string | undefined {
  return sent === value ? undefined : sent;
}

type Changed = Named & Pick<VarTable, "sensitive">;

/** What only the row shows to be wrong with a change. */
export function changeFaults(before: Changed, after: Changed): Fault[] {
  const exposed = before.sensitive === 1 && after.sensitive === 0;
  return [
    ...(isRenamed(before, after) ? keyFaults(after) : []),
    ...(exposed
      ? [
          attributeFault(
            "sensitive",
            "Sensitive can't be turned off, because that would show the value; delete the variable and create it again",
          ),
        ]
      : []),
  ];
}

export function keyTaken(): Fault {
  return attributeFault("key", "Key has already been taken");
}

/** What an owner has already, without the variable that is about to be written. */
export interface Others {
  readonly count: number;
  readonly valueBytes: number;
  /** Whether one of them has the key in the category. */
  readonly taken: boolean;
}

/** What is wrong with one more variable, or with another value, beside those that are there. */
export function besideFaults(others: Others, value: string, noun: string): Fault[] {
  const { count, valueBytes, taken } = others;
  const tooLarge = valueBytes + Buffer.byteLength(value) > valuesBytesMax;
  return [
    ...(taken ? [keyTaken()] : []),
    ...(count >= varsMax
      ? [{ pointer: "/data", detail: `${noun} has at most ${varsMax} variables; delete one before adding another` }]
      : []),
    ...(tooLarge
      ? [
          attributeFault(
            "value",
            `Value is too large beside the others: the values of ${noun.toLowerCase()}'s variables have at most ${valuesBytesMax} bytes together`,
          ),
        ]
      : []),
  ];
}

/** The ids that a workspace names, newest last. */
export function withVar(joined: string, id: string): string {
  return joined === "" ? id : `${joined},${id}`;
}

export function withoutVar(joined: string, id: string): string {
  return joined
    .split(",")
    .filter((other) => other !== id)
    .join(",");
}
