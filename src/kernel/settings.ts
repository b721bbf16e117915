/** Reads declared settings from flags, environment, file and defaults. Must not know a setting by name. */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { camel } from "./names.ts";
import { passwordLengthMax, passwordLengthMin } from "./passwords.ts";

export class SettingError extends Error {
  override readonly name = "SettingError";
  readonly faults: readonly string[];
  /** All settings, with defaults in place of those that `invalid` names. */
  rest?: { readonly settings: Readonly<Record<string, unknown>>; readonly invalid: readonly string[] };

  constructor(...faults: readonly [string, ...string[]]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

export interface Setting<Value> {
  readonly variable: `CADASTRE_${string}`;
  /** Still accepted, and reported by `deprecatedSettings`. */
  readonly formerly?: `CADASTRE_${string}`;
  /** How `--help` shows the value: `HOST:PORT`. */
  readonly shape: string;
  readonly doc: string;
  readonly initially: string | undefined;
  /** Can also be read from a file, named by the variable with the suffix `_FILE`. */
  readonly isSecret?: true;
  readonly isRequired?: true;
  /** Throws SettingError with the end of a sentence that begins with the variable's name. */
  readonly parse: (text: string) => Value;
}

export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export const fileVariable = (variable: string): string => `${variable}_FILE`;
export const fileFlag = (name: string): string => `${name}File`;

export const formerName = (formerly: string): string => camel(formerly.replace(/^CADASTRE_/, "").toLowerCase());

const variablesNamed = (variable: string, isSecret: true | undefined): string[] =>
  isSecret === true ? [variable, fileVariable(variable)] : [variable];

const currentVariables = (table: SettingTable): string[] =>
  Object.values(table).flatMap(({ variable, isSecret }) => variablesNamed(variable, isSecret));

export const variablesOf = (table: SettingTable): string[] => [
  ...currentVariables(table),
  ...Object.values(table).flatMap(({ formerly, isSecret }) =>
    formerly === undefined ? [] : variablesNamed(formerly, isSecret),
  ),
];

export interface SettingSources {
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly file?: string | undefined;
  readonly faults?: readonly string[];
}

export interface SettingTableOptions {
  /** The command that lists the settings. */
  readonly help: string;
  readonly pairs?: readonly (readonly [string, string])[];
}

/** Precedence: flag, environment, file, default. Throws SettingError with every fault. */
export function readTable(
  table: SettingTable,
  sources: SettingSources,
  { help, pairs = [] }: SettingTableOptions,
): Record<string, unknown> {
  const { flags = {}, environment = {}, file } = sources;
  const faults = [...(sources.faults ?? [])];
  const collecting = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      faults.push(...error.faults);
      return undefined;
    }
  };
  const fromFile = file === undefined ? noFile : readSettingsFile(table, file, help);
  filesRead.set(sources, fromFile);
  faults.push(...fromFile.faults);
  const settings: Record<string, unknown> = {};
  const given = new Set<string>();
  const invalid: string[] = [];
  for (const [name, setting] of Object.entries(table)) {
    const { variable, isRequired } = setting;
    const found = findValue(name, setting, { flags, environment, fromFile });
    if (found !== undefined) given.add(name);
    else if (isRequired === true && !fromFile.isUnreadable)
      faults.push(`${variable} must be set. '${help}' describes it.`);
    const before = faults.length;
    settings[name] = collecting(() => valueOf(setting, found));
    const mayBeInFile = found === undefined && fromFile.isUnreadable;
    if (faults.length === before && !mayBeInFile) continue;
    invalid.push(name);
    settings[name] = valueOf(setting, undefined);
  }
  for (const [one, other] of pairs)
    if (given.has(one) !== given.has(other))
      faults.push(`${table[one]?.variable} and ${table[other]?.variable} go together: set both or neither.`);
  const [first, ...others] = faults;
  if (first === undefined) return settings;
  throw Object.assign(new SettingError(first, ...others), { rest: { settings, invalid } });
}

interface SourceValue {
  readonly variable: string;
  readonly value: string | undefined;
  readonly path: string | undefined;
}

interface ReadSources {
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fromFile: SettingsFile;
}

/** The former name counts only where no source sets the current one. */
function findValue(name: string, setting: Setting<unknown>, sources: ReadSources): SourceValue | undefined {
  const { variable, formerly, isSecret } = setting;
  return (
    valueNamed({ flag: name, variable, isSecret }, sources) ??
    (formerly && valueNamed({ flag: formerName(formerly), variable: formerly, isSecret }, sources))
  );
}

function valueNamed(
  { flag, variable, isSecret }: { flag: string; variable: string; isSecret: true | undefined },
  { flags, environment, fromFile }: ReadSources,
): SourceValue | undefined {
  const values: SourceValue[] = [
    { variable, value: flags[flag], path: flags[fileFlag(flag)] },
    ...[environment, fromFile.values].map((source) => ({
      variable,
      value: nonEmpty(source[variable]),
      path: nonEmpty(source[fileVariable(variable)]),
    })),
  ];
  return values.find(({ value, path }) => value !== undefined || (isSecret && path !== undefined));
}

export interface DeprecatedSetting {
  readonly setting: string;
  readonly replacement: string;
  /** The replacement is set too, and wins. */
  readonly isIgnored: boolean;
}

/** Uses the file that `readTable` has read with the same sources, if it has. Throws nothing: `readTable` reports an unreadable file. */
export function deprecatedSettings(table: SettingTable, sources: SettingSources): DeprecatedSetting[] {
  const { flags = {}, environment = {}, file } = sources;
  const fromFile = filesRead.get(sources) ?? (file === undefined ? noFile : readSettingsFile(table, file, ""));
  return Object.entries(table).flatMap(([name, { variable, formerly, isSecret }]) => {
    if (formerly === undefined) return [];
    const isSet = (flag: string, named: string) =>
      valueNamed({ flag, variable: named, isSecret }, { flags, environment, fromFile }) !== undefined;
    if (!isSet(formerName(formerly), formerly)) return [];
    return [{ setting: formerly, replacement: variable, isIgnored: isSet(name, variable) }];
  });
}

function valueOf(setting: Setting<unknown>, given: SourceValue | undefined): unknown {
  const { initially, parse } = setting;
  const text = given === undefined ? initially : textOf(given);
  try {
    return text === undefined ? undefined : parse(text);
  } catch (error) {
    if (error instanceof SettingError)
      throw new SettingError(`${given?.variable ?? setting.variable} ${error.message}`);
    throw error;
  }
}

function textOf({ variable, value, path }: SourceValue): string | undefined {
  if (path === undefined) return value;
  if (value !== undefined)
    throw new SettingError(`${variable} and ${fileVariable(variable)} are both set: set one of them.`);
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/[\r\n]+$/, "");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SettingError(
      `${fileVariable(variable)} names the file ${path}, which can't be read (${code}). Check the path and its permissions.`,
    );
  }
  if (text === "")
    throw new SettingError(`${fileVariable(variable)} names the file ${path}, which is empty. Put the value in it.`);
  return text;
}

const nonEmpty = (text: string | undefined) => (text === "" ? undefined : text);

interface SettingsFile {
  readonly values: Readonly<Record<string, string>>;
  readonly faults: readonly string[];
  readonly isUnreadable: boolean;
}

const noFile: SettingsFile = { values: {}, faults: [], isUnreadable: false };

const filesRead = new WeakMap<SettingSources, SettingsFile>();

function readSettingsFile(table: SettingTable, path: string, help: string): SettingsFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    const fault = `The settings file ${path} can't be read. Check the path and its permissions.`;
    return { values: {}, faults: [fault], isUnreadable: true };
  }
  const known = variablesOf(table);
  const values: Record<string, string> = {};
  const faults: string[] = [];
  text.split(/\r?\n/).forEach((line, index) => {
    if (/^\s*(#|$)/.test(line)) return;
    const [, name, value] = /^\s*([A-Z_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined || !known.includes(name)) {
      const hint = name === undefined ? "" : ` Did you mean ${nearest(name, currentVariables(table))}?`;
      faults.push(
        `Line ${index + 1} of ${path} is not a setting. Write NAME=VALUE with a name that '${help}' lists.${hint}`,
      );
    } else values[name] = value.replace(/^(["'])(.*)\1$/, "$2");
  });
  return { values, faults, isUnreadable: false };
}

export function nearest(name: string, candidates: readonly string[]): string {
  const distances = candidates.map((candidate) => ({ candidate, distance: editDistance(name, candidate) }));
  return distances.toSorted((one, other) => one.distance - other.distance)[0]?.candidate ?? "";
}

function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column += 1)
      next.push(
        Math.min(
          (row[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (row[column - 1] ?? 0) + (other[column - 1] === letter ? 0 : 1),
        ),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}

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

export function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || host === "" || port === undefined || Number(port) > 65_535)
    throw new SettingError("must be HOST:PORT, such as 127.0.0.1:8080.");
  return { host, port: Number(port) };
}

export function parseDatabase(text: string): string {
  if (/^sqlite:.+/.test(text) || /^postgres(ql)?:\/\/.+/.test(text)) return text;
  throw new SettingError("must be sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME.");
}

export function parseSmtpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ["smtp:", "smtps:"].includes(url.protocol) && url.hostname !== "") return text;
  // The sentence does not quote the value, which may contain a password.
  throw new SettingError("must be smtp://USER:PASSWORD@HOST:PORT or smtps://USER:PASSWORD@HOST:PORT.");
}

export function parseMailAddress(text: string): string {
  if (/^([^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(text)) return text;
  throw new SettingError("must be a mail address, such as cadastre@example.com or Cadastre <cadastre@example.com>.");
}

export function parsePassword(text: string): string {
  const length = Array.from(text).length;
  if (length < passwordLengthMin || length > passwordLengthMax)
    throw new SettingError(`must have ${passwordLengthMin} to ${passwordLengthMax} characters.`);
  return text;
}

export function parseKeys(text: string): [Uint8Array, ...Uint8Array[]] {
  const keys = text.split(/[,\n]/).map((part) => parseKey(part.trim()));
  const isRepeated = keys.some((key, position) =>
    keys.slice(0, position).some((other) => Buffer.compare(key, other) === 0),
  );
  if (isRepeated) throw new SettingError("must not name a key twice.");
  return keys as [Uint8Array];
}

function parseKey(text: string): Uint8Array {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, "hex")
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
      ? Buffer.from(text, "base64")
      : undefined;
  if (bytes?.length !== 32)
    throw new SettingError(
      "must be 32 bytes as 64 hex digits or as base64, such as the output of 'openssl rand -hex 32'; or several of them, separated by commas.",
    );
  return bytes;
}

export function parseProxies(text: string): string[] {
  const addresses = text.split(",").map((part) => part.trim());
  for (const address of addresses) {
    const [host = "", bits, ...rest] = address.split("/");
    const version = isIP(host);
    const bitsMax = version === 4 ? 32 : 128;
    if (version === 0 || rest.length > 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= bitsMax))) {
      throw new SettingError(`must be addresses or networks separated by commas; '${address}' is neither.`);
    }
  }
  return addresses;
}

export function loopbackOf(host: string): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}
