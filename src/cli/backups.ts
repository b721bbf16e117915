/** `cadastre backup` and `cadastre restore`: the register to and from one file, on either engine. */
import type { Progress } from "../backup/format.ts";
import { loadBackup, verifyBackup } from "../backup/restore.ts";
import { writeBackup } from "../backup/write.ts";
import { migrations } from "../database/migrate.ts";
import { checkVault, createVault, keyPathBeside } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { existingKeys, keysPlace, openExisting, sqlitePath, writeTarget } from "../service.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { type Command, progressLines, stopSignal, type Terminal } from "./command.ts";
import { registerSettings } from "./register.ts";

export const verify: Command = {
  name: "backup verify",
  summary: "Read a backup and see whether it could be restored",
  argument: { shape: "FILE", doc: "What 'cadastre backup' wrote, on either engine, or a server by its schedule." },
  settings: registerSettings,
  details: [
    "Reads the whole file and compares it with its checksum; with the encryption key, opens every secret in it. Writes nothing and opens no database.",
    "Example: cadastre backup verify /backups/cadastre.backup",
  ],
  async run({ terminal, argument: file, settings: read }) {
    const settings = read();
    const keys = keysAtHand(settings);
    const vault = keys && createVault(...keys);
    const found = await verifyBackup(file, progress(terminal, "verifying"), vault);
    const { createdAt, cadastre } = found.header;
    terminal.out(
      `${file} is whole: ${total(found.rows)}, as they were at ${createdAt}, written by Cadastre ${cadastre}.`,
    );
    terminal.out(
      vault === undefined
        ? `Whether its secrets can be read was not tried: set CADASTRE_ENCRYPTION_KEY to the key ${found.keyIds.join(", ")} for that.`
        : `Every secret in it (${found.secrets}) can be read with the key in ${keysPlace(settings)}.`,
    );
  },
};

/** Undefined where none is set or kept beside the embedded database. */
const keysAtHand = (settings: Settings) =>
  settings.encryptionKey === undefined && sqlitePath(settings) === undefined ? undefined : existingKeys(settings);

export const backup: Command = {
  name: "backup",
  summary: "Write the whole register to one file, while it is being served",
  argument: { shape: "FILE", doc: "Where to write; a file that is there is replaced once the new one is complete." },
  settings: registerSettings,
  details: [
    "The file holds everything but the encryption key: keep that too, in another place.",
    "Example: cadastre backup /backups/cadastre.backup",
  ],
  async run({ terminal, argument: file, settings: read }) {
    const settings = read();
    const { database, vault } = await openExisting(settings);
    try {
      const request = { database, file, keyId: vault.keyId, version, progress: progress(terminal, "writing") };
      const { rows, bytes } = await writeBackup({ ...request, signal: stopSignal() });
      terminal.out(`Wrote ${total(rows)} to ${file} (${counted(bytes, "byte")}).`);
      terminal.out(keyReminder(settings));
    } finally {
      await database.close();
    }
  },
};

export const restore: Command = {
  name: "restore",
  summary: "Load a backup into an empty database",
  argument: { shape: "FILE", doc: "What 'cadastre backup' of this version or an older one wrote, on either engine." },
  settings: registerSettings,
  details: [
    "The file is verified before anything is written, and all of it is loaded or nothing. The database is made where there is none. What an older version wrote is migrated. The encryption key must be the one of the register that was backed up.",
    "Example: CADASTRE_ENCRYPTION_KEY=$(cat data/cadastre.db.key) cadastre restore cadastre.backup --database postgres://cadastre@db.example/cadastre",
  ],
  async run({ terminal, argument: file, settings: read }) {
    const settings = read();
    const { header, rows, keyIds } = await verifyBackup(file, progress(terminal, "verifying"));
    const vault = vaultFor(settings, [...new Set([header.keyId, ...keyIds])], file);
    await writeTarget(settings, async (database) => {
      await loadBackup(database, { file, header }, progress(terminal, "loading"));
      await checkVault(database, vault);
    });
    terminal.out(`Restored ${total(rows)} from ${file}, as they were at ${header.createdAt}.`);
    const added = migrations.length - header.migrations.length;
    if (added > 0)
      terminal.out(`It was written by Cadastre ${header.cadastre}; its schema was brought to that of ${version}.`);
  },
};

/** Before anything is written: what is encrypted in the backup must be readable afterwards. Raises `conflict`. */
function vaultFor(settings: Settings, keyIds: readonly string[], file: string) {
  const keys = existingKeys(settings);
  const vault = keys === undefined ? undefined : createVault(...keys);
  if (vault !== undefined && keyIds.every((id) => vault.keyIds.includes(id))) return vault;
  const path = sqlitePath(settings);
  const orFile = path === undefined ? "" : `, or put its key file at ${keyPathBeside(path)}`;
  throw conflict(
    `The backup ${file} needs the encryption key ${keyIds.join(" and ")} of the register that it was made from, and this is another or none. Set CADASTRE_ENCRYPTION_KEY to that key${orFile}. Nothing was written.`,
  );
}

function keyReminder(settings: Settings): string {
  return `It can only be restored with the encryption key in ${keysPlace(settings)}: keep a copy of that, apart from the backup.`;
}

function total(rows: Readonly<Record<string, number>>): string {
  const counts = Object.values(rows);
  const rowCount = counts.reduce((sum, count) => sum + count, 0);
  return `${counted(rowCount, "row")} of ${counted(counts.length, "table")}`;
}

/** `doing` is what begins each line: `writing`. */
function progress({ note }: Terminal, doing: string): Progress {
  const print = progressLines(note);
  return (table, rows) => print(() => `${doing} ${table}: ${counted(rows, "row")}`);
}
