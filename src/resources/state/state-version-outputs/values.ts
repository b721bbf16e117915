/** The values of outputs, as they are stored: JSON, sealed. */
import type { Vault } from "../../../database/vault.ts";
import { JsonText } from "../../../jsonapi/document.ts";

/** What a value is sealed for, so that it can't be moved to another row. */
const valueOwner = (id: string): string => `state_version_outputs/${id}/value`;

export function sealedValue(vault: Vault, id: string, json: string): Uint8Array {
  return vault.seal(valueOwner(id), Buffer.from(json));
}

/** The value as it was written: engines know larger and more exact numbers than JavaScript, and a large value is not read twice. */
export function openedValue(vault: Vault, id: string, sealed: Uint8Array): JsonText {
  return new JsonText(Buffer.from(vault.open(valueOwner(id), sealed)).toString());
}
