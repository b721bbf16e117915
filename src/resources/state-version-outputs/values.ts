/** The values of outputs, as they are stored: JSON, sealed. */
import type { Vault } from "../../database/vault.ts";

/** What a value is sealed for, so that it can't be moved to another row. */
const valueOwner = (id: string): string => `state_version_outputs/${id}/value`;

export function sealedValue(vault: Vault, id: string, json: string): Uint8Array {
  return vault.seal(valueOwner(id), Buffer.from(json));
}

interface WithSource {
  readonly source: string;
}
/** Newer than the types that describe the language: keeps the text of a number that JavaScript can't hold. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** The value, with every number as it was written: engines know larger and more exact ones than JavaScript. */
export function openedValue(vault: Vault, id: string, sealed: Uint8Array): unknown {
  const json = Buffer.from(vault.open(valueOwner(id), sealed)).toString();
  const revive = (_name: string, value: unknown, { source }: WithSource) =>
    typeof value === "number" && String(value) !== source ? rawJSON(source) : value;
  return JSON.parse(json, revive as never) as unknown;
}
