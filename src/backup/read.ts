/** Reads and verifies a backup file: reading to the end without an error proves that the file is complete and unchanged. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { type AppError, conflict } from "../kernel/errors.ts";
import {
  decodeRow,
  formatName,
  formatVersion,
  type BackupFooter,
  type BackupHeader,
  type BackupSection,
  type BackupValue,
} from "./format.ts";

export type BackupPart =
  | { readonly kind: "header"; readonly header: BackupHeader }
  | { readonly kind: "section"; readonly section: BackupSection }
  | { readonly kind: "row"; readonly values: BackupValue[] }
  | { readonly kind: "footer"; readonly footer: BackupFooter };

/** Throws `conflict` if the file is not a backup, has a newer format, or is truncated or damaged. */
export async function* readBackup(file: string): AsyncGenerator<BackupPart> {
  const checker = new BackupChecker(file);
  try {
    for await (const bytes of linesOf(file)) yield checker.part(bytes);
  } catch (error) {
    throw describeError(error, file);
  }
  checker.finish();
}

class BackupChecker {
  readonly #file: string;
  readonly #hash = createHash("sha256");
  readonly #rows: Record<string, number> = {};
  #section: BackupSection | undefined;
  #hasHeader = false;
  #hasFooter = false;

  constructor(file: string) {
    this.#file = file;
  }

  part(bytes: Buffer): BackupPart {
    if (this.#hasFooter) throw damaged(this.#file);
    const line = this.#parse(bytes);
    if (!this.#hasHeader) return this.#header(line, bytes);
    if (isRecord(line) && "sha256" in line) return this.#footer(line as unknown as BackupFooter);
    this.#hash.update(bytes);
    return Array.isArray(line) ? this.#row(line) : this.#begin(line as BackupSection);
  }

  finish(): void {
    if (!this.#hasHeader) throw notABackup(this.#file);
    if (!this.#hasFooter) throw truncated(this.#file);
  }

  #parse(bytes: Buffer): unknown {
    try {
      return JSON.parse(bytes.toString("utf8"));
    } catch {
      throw this.#hasHeader ? damaged(this.#file) : notABackup(this.#file);
    }
  }

  #header(line: unknown, bytes: Buffer): BackupPart {
    const header = line as BackupHeader;
    if (!isRecord(line) || header.format !== formatName || !Array.isArray(header.migrations))
      throw notABackup(this.#file);
    if (header.version > formatVersion)
      throw conflict(
        `The backup ${this.#file} was written by a newer version of Cadastre (${header.cadastre}). Restore it with that version.`,
      );
    this.#hasHeader = true;
    this.#hash.update(bytes);
    return { kind: "header", header };
  }

  #begin(section: BackupSection): BackupPart {
    if (!isRecord(section) || typeof section.table !== "string" || !Array.isArray(section.columns))
      throw damaged(this.#file);
    this.#section = section;
    this.#rows[section.table] = 0;
    return { kind: "section", section };
  }

  #row(values: unknown[]): BackupPart {
    const { table, columns } = this.#section ?? { table: "", columns: [] };
    if (values.length !== columns.length) throw damaged(this.#file);
    this.#rows[table] = (this.#rows[table] ?? 0) + 1;
    return { kind: "row", values: decodeRow(values as Parameters<typeof decodeRow>[0]) };
  }

  #footer(footer: BackupFooter): BackupPart {
    const isSame =
      footer.sha256 === this.#hash.digest("hex") && JSON.stringify(footer.rows) === JSON.stringify(this.#rows);
    if (!isSame) throw damaged(this.#file);
    this.#hasFooter = true;
    return { kind: "footer", footer };
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const lineEnd = 0x0a;

/** Each line includes its line feed. Splits bytes, because rows can contain other Unicode line separators. */
async function* linesOf(file: string): AsyncGenerator<Buffer> {
  const source = createReadStream(file);
  const bytes = createGunzip();
  source.on("error", (error) => bytes.destroy(error)).pipe(bytes);
  let partial: Buffer[] = [];
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, start)) {
        yield partial.length === 0
          ? chunk.subarray(start, end + 1)
          : Buffer.concat([...partial, chunk.subarray(start, end + 1)]);
        partial = [];
        start = end + 1;
      }
      if (start < chunk.length) partial.push(chunk.subarray(start));
    }
    if (partial.length > 0) yield Buffer.concat(partial);
  } finally {
    source.destroy();
    bytes.destroy();
  }
}

function describeError(error: unknown, file: string): unknown {
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== undefined)
    return conflict(`The backup ${file} can't be read (${message}). Check the path and its permissions.`);
  if (code === "Z_BUF_ERROR") return truncated(file);
  if (code === "Z_DATA_ERROR") return message === "incorrect header check" ? notABackup(file) : damaged(file);
  return error;
}

function notABackup(file: string): AppError {
  return conflict(`The file ${file} is not a backup of Cadastre. Nothing was written.`);
}

function truncated(file: string): AppError {
  return conflict(`The backup ${file} is truncated: its end is missing. Nothing was written; use another backup.`);
}

function damaged(file: string): AppError {
  return conflict(
    `The backup ${file} is damaged: it doesn't match its checksum. Nothing was written; use another backup.`,
  );
}
