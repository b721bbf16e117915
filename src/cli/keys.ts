/** `cadastre key …` and `cadastre identity-key …`: the keys that encrypt the secrets of the register, and the one that signs the identities of runs. */
import { randomUUID } from "node:crypto";
import type { Database } from "../database/database.ts";
import { retiredKeysFact } from "../database/fence.ts";
import { readFact } from "../database/meta.ts";
import { countByKey, resealAll } from "../database/resealing.ts";
import { isCheckCurrent, replaceCheck, retireOlderKeys, type Vault } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { rotateIdentityKey } from "../resources/runs/identity-keys/writes.ts";
import { recordEvent } from "../resources/shared/audit-events/writes.ts";
import { keysPlace, operatorContext } from "../service.ts";
import { type Command, jsonOption, printRows, progressLines, stopSignal } from "./command.ts";
import { registerSettings, withRegister } from "./register.ts";

export const listKeysCommand: Command = {
  name: "key list",
  summary: "List the encryption keys: what each is for, and how many secrets are under it",
  settings: registerSettings,
  options: jsonOption,
  details: [
    "An id names a key without telling anything of it. Reads the whole register, so it may take a while.",
    "Example: cadastre key list",
  ],
  async run({ terminal, isOn, settings }) {
    const rows = await withRegister(settings(), async ({ database, vault }) => {
      const counts = await countByKey(database);
      const retired = (await readFact(database.reader, retiredKeysFact))?.split(" ") ?? [];
      return [...new Set([...vault.keyIds, ...counts.keys(), ...retired])].map((id) => ({
        id,
        use: useOf(id, vault, retired),
        secrets: counts.get(id) ?? 0,
      }));
    });
    printRows(terminal, rows, { json: isOn("json"), none: "There are no keys." });
  },
};

function useOf(id: string, vault: Vault, retired: readonly string[]): string {
  if (id === vault.keyId) return "encrypts";
  const isKnown = vault.keyIds.includes(id);
  if (retired.includes(id)) return isKnown ? "rotated out, still reads" : "rotated out";
  return isKnown ? "reads" : "missing";
}

export const rotateKeyCommand: Command = {
  name: "key rotate",
  summary: "Encrypt every secret anew under the first of the keys, while the register is being served",
  settings: registerSettings,
  details: [
    "Name the new key first and the old one after it, separated by a comma, in CADASTRE_ENCRYPTION_KEY of every server, or as the first line of the embedded database's key file, and restart them. Then run this; it can be stopped, killed and run again at any time.",
    "From its beginning on a server that still encrypts under an old key changes nothing any more. At its end the old keys can be taken out of the setting.",
    "Example: CADASTRE_ENCRYPTION_KEY=$NEW,$OLD cadastre key rotate",
  ],
  async run({ terminal, settings: read }) {
    const settings = read();
    await withRegister(settings, async ({ database, vault }) => {
      const total = await countOutdated(database, vault);
      if (total === 0 && vault.keyIds.length === 1)
        return terminal.out(`Every secret is under the key ${vault.keyId} already.`);
      await begin(database, vault, operatorContext(database, settings, `cli-${randomUUID()}`));
      const tell = progressLines(terminal.note);
      const progress = (count: number) => tell(() => `encrypting anew: ${count} of ${counted(total, "secret")}`);
      const done = await resealAll(database, vault, progress, stopSignal());
      await finish(database, vault);
      terminal.out(`Encrypted ${counted(done, "secret")} anew; every secret is under the key ${vault.keyId} now.`);
      const older = vault.keyIds.slice(1);
      if (older.length > 0)
        terminal.out(
          `Take ${older.join(", ")} out of ${keysPlace(settings)}; keep it for backups that were made before.`,
        );
    });
  },
};

/** How many secrets are under older keys. Raises `conflict` where something is under a key that is not there: it could not be encrypted anew. */
async function countOutdated(database: Database, vault: Vault): Promise<number> {
  const counts = await countByKey(database);
  const missing = [...counts.keys()].filter((id) => !vault.keyIds.includes(id));
  if (missing.length > 0)
    throw conflict(
      `Some secrets are under the key ${missing.join(", ")}, which is not among the given ones (${vault.keyIds.join(", ")}). Add it after them in CADASTRE_ENCRYPTION_KEY. Nothing was changed.`,
    );
  const others = [...counts].filter(([id]) => id !== vault.keyId).map(([, count]) => count);
  return others.reduce((sum, count) => sum + count, 0);
}

/** Its first transaction keeps everybody from encrypting under the old keys, so that what is found afterwards is all that there is. */
async function begin(database: Database, vault: Vault, context: Parameters<typeof recordEvent>[1]): Promise<void> {
  await database.write(async (tx) => {
    const retired = await retireOlderKeys(tx, vault);
    if (retired.length === 0) return;
    await recordEvent(tx, context, {
      organizationId: null,
      verb: "rotate",
      subject: { type: "encryption-keys", id: vault.keyId },
      after: { retired },
    });
  });
}

/** Whoever starts needs the new key alone from now on. */
async function finish(database: Database, vault: Vault): Promise<void> {
  const left = await countOutdated(database, vault);
  if (left > 0) throw conflict(`${counted(left, "secret")} still under older keys. Run 'cadastre key rotate' again.`);
  if (!(await isCheckCurrent(database.reader, vault))) await database.write((tx) => replaceCheck(tx, vault));
}

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
