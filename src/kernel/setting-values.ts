/** How values of particular kinds are read from a setting's text. Each raises SettingError with the end of a sentence. */
import { isIP } from "node:net";
import { passwordLengthMax, passwordLengthMin } from "./passwords.ts";
import { SettingError } from "./settings.ts";

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
  // What is wrong with it may stand beside a password.
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
  // A key file has one in each line.
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

/** By what a server is reached on its own machine: one that listens on every address, by the loopback one. */
export function loopbackOf(host: string): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}
