/** Pure rules of variables. */
import type { VarTable } from "../../../database/schema/variables.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { keyFaults, type VarName, vars, varsMax, type VarView } from "./definition.ts";

export const valuesBytesMax = 8 * 1024 * 1024;

export const valueOwner = (id: string): string => `vars/${id}/value`;

type VarIdentity = Pick<VarTable, "id" | "organizationId" | "workspaceId" | "varsetId" | "createdAt">;

export function newVar(attributes: CreateAttributes<typeof vars>, identity: VarIdentity): Omit<VarTable, "value"> {
  return { ...createdColumns(vars, attributes), ...identity, version: 1 };
}

export const isRenamed = (before: VarName, after: VarName): boolean =>
  before.key !== after.key || before.category !== after.category;

/** Undefined if the value doesn't change. Sensitive values always change: otherwise a caller could verify a guess. */
export function replacementValue({ value }: Pick<VarView, "value">, sent: string | undefined): string | undefined {
  return sent === value ? undefined : sent;
}

type ChangeableVar = VarName & Pick<VarTable, "sensitive">;

export function changeFaults(before: ChangeableVar, after: ChangeableVar): Fault[] {
  const isExposed = before.sensitive === 1 && after.sensitive === 0;
  return [
    ...(isRenamed(before, after) ? keyFaults(after) : []),
    ...(isExposed
      ? [
          attributeFault(
            "sensitive",
            "Sensitive can't be turned off, because that would reveal the value; delete the variable and create it again",
          ),
        ]
      : []),
  ];
}

export function keyTaken(): Fault {
  return attributeFault("key", "Key has already been taken");
}

export interface OtherVars {
  readonly count: number;
  readonly valueBytes: number;
  readonly taken: boolean;
}

export function ownerLimitFaults(others: OtherVars, value: string, noun: string): Fault[] {
  const { count, valueBytes, taken } = others;
  const isTooLarge = valueBytes + Buffer.byteLength(value) > valuesBytesMax;
  return [
    ...(taken ? [keyTaken()] : []),
    ...(count >= varsMax
      ? [
          {
            pointer: "/data",
            detail: `A ${noun} can have at most ${varsMax} variables; delete one before you add another`,
          },
        ]
      : []),
    ...(isTooLarge
      ? [
          attributeFault(
            "value",
            `Value is too large: all values of a ${noun} together can have at most ${valuesBytesMax} bytes`,
          ),
        ]
      : []),
  ];
}

export function withVar(joined: string, id: string): string {
  return joined === "" ? id : `${joined},${id}`;
}

export function withoutVar(joined: string, id: string): string {
  return joined
    .split(",")
    .filter((other) => other !== id)
    .join(",");
}
