/**
 * What a setting is, and how a table of them is read: flags, the environment, a settings file, defaults. An unusable one raises a
 * sentence. It knows no setting by name.
 */
import { readFileSync } from "node:fs";

/** A setting that can't be used; its message is a sentence for the person who set it. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}

export interface Setting<Value> {
  readonly variable: `CADASTRE_${string}`;
  /** How the value is shown in `--help`: `HOST:PORT`. */
  readonly shape: string;
  readonly doc: string;
  readonly initially: string | undefined;
  /** Raises SettingError with the end of a sentence that begins with the setting's name. */
  readonly parse: (text: string) => Value;
}

export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

/** `tlsCert` → `--tls-cert` */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export interface SettingSources {
  /** Values of flags, by the setting's name. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The path of a settings file. */
  readonly file?: string | undefined;
}

/** A flag wins over the environment, the environment over the file, the file over the default. Raises SettingError. */
export function readTable(
  table: SettingTable,
  { flags = {}, environment = {}, file }: SettingSources,
  help: string,
): Record<string, unknown> {
  const fromFile = file === undefined ? {} : readFile(table, file, help);
  const settings: Record<string, unknown> = {};
  for (const [name, { variable, initially, parse }] of Object.entries(table)) {
    const text = flags[name] ?? nonEmpty(environment[variable]) ?? nonEmpty(fromFile[variable]) ?? initially;
    try {
      settings[name] = text === undefined ? undefined : parse(text);
    } catch (error) {
      if (error instanceof SettingError) throw new SettingError(`${variable} ${error.message}`);
      throw error;
    }
  }
  return settings;
}

const nonEmpty = (text: string | undefined) => (text === "" ? undefined : text);

/** Lines of NAME=VALUE; empty lines and lines that begin with # are passed over. */
function readFile(table: SettingTable, path: string, help: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw new SettingError(`The settings file ${path} can't be read. Check the path and its permissions.`);
  }
  const known = new Set<string>(Object.values(table).map(({ variable }) => variable));
  const values: Record<string, string> = {};
  text.split(/\r?\n/).forEach((line, index) => {
    if (/^\s*(#|$)/.test(line)) return;
    const [, name, value] = /^\s*([A-Z_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined || !known.has(name)) {
      throw new SettingError(
        `Line ${index + 1} of ${path} is not a setting. Write NAME=VALUE with a name that '${help}' lists.`,
      );
    }
    values[name] = value.replace(/^(["'])(.*)\1$/, "$2");
  });
  return values;
}

// --- parsing

export function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "")
    throw new SettingError("must be an http or https URL without a query, such as https://cadastre.example.");
  return text.replace(/\/+$/, "");
}

export function parseToken(text: string): string {
  if (!/^[\x21-\x7e]{20,512}$/.test(text))
    throw new SettingError("must be 20 to 512 printable characters without spaces.");
  return text;
}

export function oneOf<const Values extends readonly string[]>(values: Values): (text: string) => Values[number] {
  return (text) => {
    if (!values.includes(text)) throw new SettingError(`must be one of ${values.join(", ")}.`);
    return text;
  };
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    if (!/^\d+$/.test(text) || Number(text) < min || Number(text) > max)
      throw new SettingError(`must be a whole number from ${min} to ${max}.`);
    return Number(text);
  };
}
