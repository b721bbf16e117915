/** Encrypts and decrypts output values, which are stored as JSON. */
import type { Vault } from "../../../database/vault.ts";
import { JsonText } from "../../../jsonapi/document.ts";

/** Binds a sealed value to its row, so that it can't be moved to another. */
const valueOwner = (id: string): string => `state_version_outputs/${id}/value`;

export function encryptOutputValue(vault: Vault, id: string, json: string): Uint8Array {
  return vault.seal(valueOwner(id), Buffer.from(json));
}

/** JSON text, because engines have larger and more precise numbers than JavaScript. */
export function decryptOutputValue(vault: Vault, id: string, sealed: Uint8Array): JsonText {
  return new JsonText(Buffer.from(vault.open(valueOwner(id), sealed)).toString());
}
