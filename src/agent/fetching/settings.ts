/** The settings of fetching engines, which the agent, the server's workers and `cadastre engine` share. */
import { resolve } from "node:path";
import { oneOf, type Setting, SettingError, wholeNumber } from "../../kernel/settings.ts";

export interface EngineFetchSettings {
  /** `off`, or undefined for the publishers' own addresses. */
  readonly engineMirror: string | undefined;
  readonly engineMirrorInsecure: boolean;
  readonly engineKeys: string | undefined;
  readonly engineCacheMb: number;
}

export const engineFetchTable: {
  readonly [Name in keyof EngineFetchSettings]: Setting<NonNullable<EngineFetchSettings[Name]>>;
} = {
  engineMirror: {
    variable: "CADASTRE_ENGINE_MIRROR",
    shape: "URL",
    doc: "Where to fetch missing engines: an https URL below which they are at {terraform,tofu}/VERSION/FILE, or off to fetch none. Defaults to the addresses of the official releases.",
    initially: undefined,
    parse: parseMirrorUrl,
  },
  engineMirrorInsecure: {
    variable: "CADASTRE_ENGINE_MIRROR_INSECURE",
    shape: "BOOLEAN",
    doc: "true or false: whether CADASTRE_ENGINE_MIRROR can be an http URL. Signatures are verified in any case.",
    initially: "false",
    parse: (text) => oneOf(["true", "false"])(text) === "true",
  },
  engineKeys: {
    variable: "CADASTRE_ENGINE_KEYS",
    shape: "FILE",
    doc: "File with armored OpenPGP public keys that sign fetched engines. It replaces the publishers' keys that ship with Cadastre.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  engineCacheMb: {
    variable: "CADASTRE_ENGINE_CACHE_MB",
    shape: "MEGABYTES",
    doc: "Maximum size of all fetched engines in CADASTRE_ENGINES. The least recently used are removed first, never one that a job uses.",
    initially: "4096",
    parse: wholeNumber(1, 16_777_216),
  },
};

export const fetchingOff = "off";

function parseMirrorUrl(text: string): string {
  if (text === fetchingOff) return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.username !== "" ||
    url.search !== "" ||
    url.hash !== ""
  )
    throw new SettingError(
      "must be off or an https URL without a username or query, such as https://mirror.example/engines.",
    );
  return text.replace(/\/+$/, "");
}

/** Throws SettingError. */
export function checkEngineMirror({
  engineMirror,
  engineMirrorInsecure,
}: Pick<EngineFetchSettings, "engineMirror" | "engineMirrorInsecure">): void {
  if (engineMirror?.startsWith("http://") && !engineMirrorInsecure)
    throw new SettingError(
      "CADASTRE_ENGINE_MIRROR must begin with https://. Set CADASTRE_ENGINE_MIRROR_INSECURE=true to allow http.",
    );
}
