/** The sealed values in a backup's rows: under which keys they are, and whether they can be opened. */
import { type SealedTable, sealedTables } from "../database/sealed.ts";
import { keyIdOf, type Vault } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";
import type { Section, Value } from "./format.ts";

/** Every value of bytes in the register is a sealed one. */
export const keyIdsIn = (values: readonly unknown[]): string[] =>
  values.filter((value) => value instanceof Uint8Array).map((value) => keyIdOf(value as Uint8Array));

/** Opens whatever is sealed in the rows of a section, and keeps nothing of it. */
export class SecretsCheck {
  readonly #vault: Vault;
  readonly #file: string;
  #section: Section = { table: "", columns: [] };
  #sealed: SealedTable | undefined;
  count = 0;

  constructor(vault: Vault, file: string) {
    this.#vault = vault;
    this.#file = file;
  }

  begin(section: Section): void {
    this.#section = section;
    this.#sealed = sealedTables.find(({ table, formerly }) => table === section.table || formerly === section.table);
  }

  /** Raises `conflict` where a value can't be opened. */
  row(values: readonly Value[]): void {
    const sealed = this.#sealed;
    if (sealed === undefined) return;
    const valueOf = (column: string) => values[this.#section.columns.indexOf(column)];
    const key = sealed.key.map((column) => valueOf(column) as string | number);
    for (const [column, owner] of Object.entries(sealed.owners)) {
      const value = valueOf(column);
      if (!(value instanceof Uint8Array)) continue;
      try {
        this.#vault.open(owner(key), value);
      } catch {
        throw conflict(
          `The backup ${this.#file} is whole, but ${sealed.table}.${column} of ${key.join(", ")} in it can't be opened: it is under the key ${keyIdOf(value)}, and the given ones are ${this.#vault.keyIds.join(", ")}. Name that key too in CADASTRE_ENCRYPTION_KEY; if it is there, use another backup.`,
        );
      }
      this.count += 1;
    }
  }
}
