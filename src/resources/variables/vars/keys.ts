/** What a variable may be called, and how one version of it is told from the next. */
import { createHash } from "node:crypto";
import type { VarTable } from "../../../database/schema/variables.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";

export const categories = ["terraform", "env"] as const;

export type Named = Pick<VarTable, "key" | "category">;

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

/** Tells one version from the next, and nothing of what is in it: the value has no part in it. */
export function versionIdOf({ id, version }: Pick<VarTable, "id" | "version">): string {
  return createHash("sha256").update(`${id}/${version}`).digest("hex");
}
