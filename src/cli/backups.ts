/** `cadastre backup`, `cadastre backup verify` and `cadastre restore`: the whole database to and from one file. */
import type { BackupProgress } from "../backup/format.ts";
import { loadBackup, verifyBackup } from "../backup/restore.ts";
import { writeBackup } from "../backup/write.ts";
import type { Tx } from "../database/database.ts";
import { openPlace } from "../contents.ts";
import { migrations } from "../database/migrate.ts";
import { checkVault, createVault, keyFilePath, type Vault } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { existingKeys, keysLocation, openExisting, sqlitePath, writeRegister } from "../service.ts";
import { placeName } from "../object-store/address.ts";
import { objectReader } from "../resources/shared/contents/backup-objects.ts";
import { becomeCopy } from "../resources/shared/contents/register-identity.ts";
import { renamePlaces } from "../resources/shared/contents/relocation-store.ts";
import type { Settings } from "../settings.ts";
import { PlaceChecker } from "./backup-objects.ts";
import { contentSettings } from "./contents.ts";
import { version } from "../version.ts";
import { type Command, progressLines, stopSignal, type Terminal } from "./command.ts";

export const verifyBackupCommand: Command = {
  name: "backup verify",
  summary: "Check that a backup can be restored",
  argument: {
    shape: "FILE",
    doc: "A backup from 'cadastre backup' or from a server's schedule, of SQLite or PostgreSQL.",
  },
  options: {
    deep: { doc: "Also read and verify every byte of the objects that a backup without contents needs." },
  },
  settings: contentSettings,
  details: [
    "Reads the whole file and verifies its checksum. If an encryption key is set, also decrypts every secret in it. Writes nothing and opens no database.",
    "For a backup without contents, also checks that CADASTRE_CONTENTS has every object that it needs, with the right size.",
    "Example: cadastre backup verify /backups/cadastre.backup",
  ],
  async run({ terminal, argument: file, isOn, settings: read }) {
    const settings = read();
    const keys = availableKeys(settings);
    const vault = keys && createVault(...keys);
    if (isOn("deep") && vault === undefined)
      throw conflict("--deep decrypts contents, but no encryption key is set. Set CADASTRE_ENCRYPTION_KEY.");
    const { found, checked } = await withChecker(settings, isOn("deep") ? vault : undefined, async (checker) => ({
      found: await verifyBackup(file, progress(terminal, "verifying"), vault, checker),
      checked: checker,
    }));
    const { createdAt, cadastre } = found.header;
    terminal.out(`${file} is complete: ${total(found.rows)}, created at ${createdAt} by Cadastre ${cadastre}.`);
    terminal.out(
      vault === undefined
        ? `Its secrets were not checked. To check them, set CADASTRE_ENCRYPTION_KEY to the key ${found.keyIds.join(", ")}.`
        : `Its ${counted(found.secrets, "secret")} can be decrypted with the key in ${keysLocation(settings)}.`,
    );
    if (checked.count > 0)
      terminal.out(
        `The ${counted(checked.count, "object")} that it needs (${counted(checked.bytes, "byte")}) are in the object store${isOn("deep") ? ", and every byte was verified" : ""}.`,
      );
  },
};

async function withChecker<T>(
  settings: Settings,
  vault: Vault | undefined,
  work: (checker: PlaceChecker) => Promise<T>,
): Promise<T> {
  const place = openPlace(settings);
  try {
    return await work(new PlaceChecker(place, vault));
  } finally {
    place?.stop();
  }
}

const availableKeys = (settings: Settings) =>
  settings.encryptionKey === undefined && sqlitePath(settings) === undefined ? undefined : existingKeys(settings);

export const backupCommand: Command = {
  name: "backup",
  summary: "Back up the whole database to one file; servers can keep running",
  argument: { shape: "FILE", doc: "The file to write. An existing file is replaced once the new one is complete." },
  options: {
    "without-contents": {
      doc: "Leave contents in the object store, and only say which objects the backup needs. They stay there for CADASTRE_CONTENTS_KEEP_DAYS after they are deleted.",
    },
  },
  settings: contentSettings,
  details: [
    "The file contains everything except the encryption key. Keep a copy of the key in another place.",
    "Example: cadastre backup /backups/cadastre.backup",
  ],
  async run({ terminal, argument: file, isOn, settings: read }) {
    const settings = read();
    const place = openPlace(settings);
    const { database, vault } = await openExisting(settings);
    try {
      const readObject = isOn("without-contents") ? undefined : objectReader(place);
      const request = {
        database,
        file,
        keyId: vault.keyId,
        version,
        progress: progress(terminal, "writing"),
        readObject,
      };
      const { rows, bytes, objects } = await writeBackup({ ...request, signal: stopSignal() });
      terminal.out(`Wrote ${total(rows)} to ${file} (${counted(bytes, "byte")}).`);
      terminal.out(keyReminder(settings));
      for (const [name, { count, bytes: size }] of Object.entries(objects))
        terminal.out(
          `It needs ${counted(count, "object")} (${counted(size, "byte")}) in ${name}, which stay there for ${counted(settings.contentsKeepDays, "day")} after they are deleted.`,
        );
    } finally {
      place?.stop();
      await database.close();
    }
  },
};

export const restoreCommand: Command = {
  name: "restore",
  summary: "Load a backup into an empty database",
  argument: {
    shape: "FILE",
    doc: "A backup from 'cadastre backup' of this version or an older one, of SQLite or PostgreSQL.",
  },
  settings: contentSettings,
  details: [
    "Verifies the file first, then loads all of it or nothing. For a backup without contents, CADASTRE_CONTENTS must name the object store, or a copy of it; 'cadastre contents adopt' then gives it to the restored register. Creates the database if it doesn't exist, and migrates a backup of an older version. The encryption key must be the one of the database that was backed up.",
    "Example: CADASTRE_ENCRYPTION_KEY=$(cat data/cadastre.db.key) cadastre restore cadastre.backup --database postgres://cadastre@db.example/cadastre",
  ],
  async run({ terminal, argument: file, settings: read }) {
    const settings = read();
    const { header, rows, keyIds, objects } = await withChecker(settings, undefined, (checker) =>
      verifyBackup(file, progress(terminal, "verifying"), undefined, checker),
    );
    const vault = vaultFor(settings, [...new Set([header.keyId, ...keyIds])], file);
    await writeRegister(settings, async (database) => {
      await loadBackup(database, { file, header }, progress(terminal, "loading"), (tx) => becomeCopyIn(tx, settings));
      await checkVault(database, vault);
    });
    terminal.out(`Restored ${total(rows)} from ${file}, created at ${header.createdAt}.`);
    const added = migrations.length - header.migrations.length;
    if (added > 0)
      terminal.out(
        `The backup was written by Cadastre ${header.cadastre}; the schema was migrated to that of ${version}.`,
      );
    if (Object.keys(objects).length > 0)
      terminal.out(
        "Its contents are in the object store, in which nothing is deleted until you run 'cadastre contents adopt'. First stop the register that was backed up: it can't use the store any more then.",
      );
  },
};

async function becomeCopyIn(tx: Tx, { contents }: Settings): Promise<void> {
  await becomeCopy(tx);
  if (contents !== "database") await renamePlaces(tx, placeName(contents));
}

/** Before anything is written: the keys must decrypt the backup's secrets. Throws `conflict`. */
function vaultFor(settings: Settings, keyIds: readonly string[], file: string) {
  const keys = existingKeys(settings);
  const vault = keys === undefined ? undefined : createVault(...keys);
  if (vault !== undefined && keyIds.every((id) => vault.keyIds.includes(id))) return vault;
  const path = sqlitePath(settings);
  const orFile = path === undefined ? "" : `, or put its key file at ${keyFilePath(path)}`;
  throw conflict(
    `The backup ${file} needs the encryption key ${keyIds.join(" and ")}, which is not set. Set CADASTRE_ENCRYPTION_KEY to the key of the database that was backed up${orFile}. Nothing was written.`,
  );
}

function keyReminder(settings: Settings): string {
  return `You can only restore it with the encryption key in ${keysLocation(settings)}. Keep a copy of the key, apart from the backup.`;
}

function total(rows: Readonly<Record<string, number>>): string {
  const counts = Object.values(rows);
  const rowCount = counts.reduce((sum, count) => sum + count, 0);
  return `${counted(rowCount, "row")} in ${counted(counts.length, "table")}`;
}

function progress({ note }: Terminal, verb: string): BackupProgress {
  const print = progressLines(note);
  return (table, rows) => print(() => `${verb} ${table}: ${counted(rows, "row")}`);
}
