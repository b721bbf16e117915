/** Pure rules of variables: what a key may be, what a creation stores, what can't be changed, how many there may be. */
import { createHash } from "node:crypto";
import type { VarTable } from "../../../database/schema/variables.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { stored } from "../../shared/changes.ts";
import type { vars } from "./definition.ts";

export const categories = ["terraform", "env"] as const;

/** Of one workspace or one set: its whole list is one answer, and so has to stay bounded. */
export const varsMax = 1000;
export const valuesBytesMax = 8 * 1024 * 1024;

/** What a variable's value is sealed for, so that it can't be moved to another row. */
export const valueOwner = (id: string): string => `vars/${id}/value`;

/** Tells one version from the next, and nothing of what is in it: the value has no part in it. */
export function versionIdOf({ id, version }: Pick<VarTable, "id" | "version">): string {
  return createHash("sha256").update(`${id}/${version}`).digest("hex");
}

/** What a creation stores, beside the value, for what was sent and for what was not. */
export function newVar(attributes: CreateAttributes<typeof vars>) {
  const { key, category, description, hcl = false, sensitive = false } = attributes;
  return { key, category, description: description ?? "", hcl: stored(hcl), sensitive: stored(sensitive) };
}

/** Attributes as the table stores them, without the value; absent stays absent. */
export function toColumns(attributes: UpdateAttributes<typeof vars>) {
  const { key, category, description, hcl, sensitive } = attributes;
  return {
    key,
    category,
    description: description === null ? "" : description,
    hcl: stored(hcl),
    sensitive: stored(sensitive),
  };
}

type Named = Pick<VarTable, "key" | "category">;

/** What an environment, and what Terraform, can't have as a name. */
export function keyFaults({ key, category }: Named): Fault[] {
  if (category === "env")
    return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(key)
      ? []
      : [
          attributeFault(
            "key",
            "Key of an environment variable must begin with a letter or an underscore, and have only letters, digits and underscores",
          ),
        ];
  return /\s/.test(key) ? [attributeFault("key", "Key must not contain white space")] : [];
}

/** The rules of a key depend on the category; where only one of them is sent, the row tells the other. */
export function bodyFaults({ key, category }: Partial<Named>): Fault[] {
  return key === undefined || category === undefined ? [] : keyFaults({ key, category });
}

export const isRenamed = (before: Named, after: Named): boolean =>
  before.key !== after.key || before.category !== after.category;

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
