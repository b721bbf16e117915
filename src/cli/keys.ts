/** `cadastre key …` and `cadastre identity-key …`: rotates encryption keys and the signing key of run identity tokens. */
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
import { countByPlace } from "../resources/shared/contents/relocation-store.ts";
import {
  requireReachableObjects,
  resealObjects,
  type ResealingOptions,
} from "../resources/shared/contents/resealing.ts";
import { keysLocation, operatorContext } from "../service.ts";
import { type Command, jsonOption, printRows, progressLines, stopSignal } from "./command.ts";
import type { Settings } from "../settings.ts";
import { contentSettings, withPlace } from "./contents.ts";
import { databaseSettings, withDatabase } from "./database.ts";

export const listKeysCommand: Command = {
  name: "key list",
  summary: "List the encryption keys, their use, and how many secrets each encrypts",
  settings: databaseSettings,
  options: jsonOption,
  details: [
    "An id identifies a key without revealing it. The command reads every secret, which can take a while.",
    "Example: cadastre key list",
  ],
  async run({ terminal, isOn, settings }) {
    const rows = await withDatabase(settings(), async ({ database, vault }) => {
      const counts = await countByKey(database);
      const retired = (await readFact(database.reader, retiredKeysFact))?.split(" ") ?? [];
      return [...new Set([...vault.keyIds, ...counts.keys(), ...retired])].map((id) => ({
        id,
        use: useOf(id, vault, retired),
        secrets: counts.get(id) ?? 0,
      }));
    });
    printRows(terminal, rows, { json: isOn("json"), empty: "There are no keys." });
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
  summary: "Re-encrypt every secret with the first encryption key; servers can keep running",
  settings: contentSettings,
  details: [
    "First set CADASTRE_ENCRYPTION_KEY of every server to the new key and the old one, separated by a comma (or put the new key in the first line of the SQLite database's key file), and restart the servers. Then run this command. You can stop it and run it again at any time.",
    "Once it has started, a server that still encrypts with an old key can no longer write. When it has finished, remove the old keys from the setting.",
    "Example: CADASTRE_ENCRYPTION_KEY=$NEW,$OLD cadastre key rotate",
  ],
  async run({ terminal, settings: read }) {
    const settings = read();
    await withReachablePlace(settings, async ({ database, vault, contentPlace }) => {
      const total = await countOutdated(database, vault);
      if (total === 0 && vault.keyIds.length === 1)
        return terminal.out(`Every secret is already encrypted with the key ${vault.keyId}.`);
      await begin(database, vault, operatorContext(database, settings, `cli-${randomUUID()}`));
      const print = progressLines(terminal.note);
      const progress = (count: number) => print(() => `re-encrypting: ${count} of ${counted(total, "secret")}`);
      const signal = stopSignal();
      const rows = await resealAll(database, vault, progress, signal);
      const resealing = { database, vault, contentPlace, signal };
      const done = rows + (await resealObjects(resealing, (objects) => progress(rows + objects)));
      await finish(database, vault);
      terminal.out(
        `Re-encrypted ${counted(done, "secret")}; every secret is now encrypted with the key ${vault.keyId}.`,
      );
      const older = vault.keyIds.slice(1);
      if (older.length > 0)
        terminal.out(
          `Remove ${older.join(", ")} from ${keysLocation(settings)}, but keep a copy to restore older backups.`,
        );
    });
  },
};

type RotatedRegister = Omit<ResealingOptions, "signal">;

/** The place is opened only if contents are in it. Throws `conflict` or SettingError, before anything is changed. */
async function withReachablePlace(
  settings: Settings,
  work: (register: RotatedRegister) => Promise<void>,
): Promise<void> {
  await withDatabase(settings, async ({ database, vault }) => {
    const isUsed = (await countByPlace(database.reader)).length > 0;
    if (!isUsed || settings.contents === "database") {
      await requireReachableObjects({ database, vault, contentPlace: undefined });
      return work({ database, vault, contentPlace: undefined });
    }
    await withPlace(settings, database, async (contentPlace) => {
      await requireReachableObjects({ database, vault, contentPlace });
      await work({ database, vault, contentPlace });
    });
  });
}

/** Throws `conflict` if a key is missing: its secrets can't be re-encrypted. */
async function countOutdated(database: Database, vault: Vault): Promise<number> {
  const counts = await countByKey(database);
  const missing = [...counts.keys()].filter((id) => !vault.keyIds.includes(id));
  if (missing.length > 0)
    throw conflict(
      `Some secrets are encrypted with the key ${missing.join(", ")}, which is not among the configured keys (${vault.keyIds.join(", ")}). Add it to the end of CADASTRE_ENCRYPTION_KEY. Nothing was changed.`,
    );
  const others = [...counts].filter(([id]) => id !== vault.keyId).map(([, count]) => count);
  return others.reduce((sum, count) => sum + count, 0);
}

/** No server may encrypt with the old keys during the re-encryption. */
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

/** Servers then need only the new key to start. */
async function finish(database: Database, vault: Vault): Promise<void> {
  const left = await countOutdated(database, vault);
  if (left > 0)
    throw conflict(
      `${counted(left, "secret is", "secrets are")} still encrypted with older keys. Run 'cadastre key rotate' again.`,
    );
  if (!(await isCheckCurrent(database.reader, vault))) await database.write((tx) => replaceCheck(tx, vault));
}

export const rotateIdentityKeyCommand: Command = {
  name: "identity-key rotate",
  summary: "Create a new signing key for the identity tokens of runs",
  settings: databaseSettings,
  options: {
    revoke: { doc: "Also stop publishing the older keys, so that tokens signed with them are no longer trusted." },
    ...jsonOption,
  },
  details: [
    "Running servers use the new key immediately. Without --revoke the older keys stay published for 7 days, longer than any token is valid. If a key was stolen, use --revoke.",
    "Example: cadastre identity-key rotate",
  ],
  async run({ terminal, isOn, settings }) {
    const given = settings();
    const { id, published } = await withDatabase(given, ({ database, vault }) => {
      const context = operatorContext(database, given, `cli-${randomUUID()}`);
      return database.write((tx) => rotateIdentityKey(tx, context, vault, { revoke: isOn("revoke") }));
    });
    if (isOn("json")) return terminal.out(JSON.stringify({ id, published }, null, 2));
    const others = published.length - 1;
    const older =
      others === 0
        ? "no older key is published"
        : `${counted(others, "older key is", "older keys are")} still published`;
    terminal.out(`The new signing key is ${id}; ${older}.`);
  },
};
