/** `cadastre identity-key …`: replaces the key that signs the identities of runs. */
import { randomUUID } from "node:crypto";
import { rotateIdentityKey } from "../resources/runs/identity-keys/writes.ts";
import { operatorContext } from "../service.ts";
import { type Command, jsonOption } from "./command.ts";
import { registerSettings, withRegister } from "./register.ts";

export const rotateIdentityKeyCommand: Command = {
  name: "identity-key rotate",
  summary: "Sign the identities of runs with a new key from now on",
  settings: registerSettings,
  options: {
    revoke: { doc: "Also stop publishing every older key, so that nothing that they signed is trusted any more." },
    ...jsonOption,
  },
  details: [
    "Servers that run take the new key at once. Without --revoke the older ones stay published for 7 days,",
    "which is longer than any identity is good for; after a key was stolen, use --revoke.",
    "Example: cadastre identity-key rotate",
  ],
  async run({ terminal, isOn, settings }) {
    const given = settings();
    const { id, published } = await withRegister(given, ({ database, vault }) => {
      const context = operatorContext(database, given, `cli-${randomUUID()}`);
      return database.write((tx) => rotateIdentityKey(tx, context, vault, { revoke: isOn("revoke") }));
    });
    if (isOn("json")) return terminal.out(JSON.stringify({ id, published }, null, 2));
    const others = published.length - 1;
    const older = others === 0 ? "no older key is published" : `${others} older still published`;
    terminal.out(`The key ${id} signs from now on; ${older}.`);
  },
};
