/** Settings of commands that call another server, and the check for unknown `CADASTRE_` environment variables. */
import { agentSettingTable } from "../agent/settings.ts";
import { nearest, parseToken, parseUrl, type Setting, variablesOf } from "../kernel/settings.ts";
import { settingTable } from "../settings.ts";

export const commandSettingTable = {
  address: {
    variable: "CADASTRE_ADDRESS",
    shape: "URL",
    doc: "Address of a running server. The command then calls its API instead of opening the database; needs a token.",
    initially: undefined,
    parse: parseUrl,
  },
  token: {
    variable: "CADASTRE_TOKEN",
    shape: "TOKEN",
    isSecret: true,
    doc: "API token for that server. Other users of this machine can see flags, so prefer the environment variable or a file.",
    initially: undefined,
    parse: parseToken,
  },
  importToken: {
    variable: "CADASTRE_IMPORT_TOKEN",
    shape: "TOKEN",
    isSecret: true,
    doc: "API token for the server that an organization is imported from.",
    initially: undefined,
    // Other servers use other token formats.
    parse: (text) => text,
  },
} as const satisfies Record<string, Setting<string>>;

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** The server, its workers and the commands can share one environment. */
const tables = [settingTable, agentSettingTable, commandSettingTable];
const settable = [...tables.flatMap(variablesOf), "CADASTRE_CONFIG"];
/** Without the `_FILE` variants of secrets. */
const plain = tables.flatMap((table) => Object.values(table)).map(({ variable }) => variable);

const internal = /^CADASTRE_(?:AGENT_VERSION|FETCH|PROBE|BUILDER|IMAGE|TERRAFORM|CLUSTER_SMALL_DISKS|TEST_\w+)$/;

/** Kubernetes sets these for services named `cadastre…`. Its `CADASTRE_PORT` is a URL; a number was meant as `CADASTRE_LISTEN`. */
function isOfKubernetes(name: string, value: string): boolean {
  if (/^CADASTRE_(?:\w+_)?SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name)) return true;
  if (/^CADASTRE_(?:\w+_)?PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name)) return true;
  return /^CADASTRE_(?:\w+_)?PORT$/.test(name) && /^(?:tcp|udp|sctp):\/\//.test(value);
}

export function unknownVariables(environment: EnvironmentVariables): string[] {
  return Object.entries(environment)
    .filter(([name, value = ""]) => name.startsWith("CADASTRE_") && value !== "" && !isKnown(name, value))
    .map(([name]) => `${name} is not a setting. Did you mean ${suggestionFor(name)}? Correct it, or unset it.`);
}

const isKnown = (name: string, value: string) =>
  settable.includes(name) || internal.test(name) || isOfKubernetes(name, value);

function suggestionFor(name: string): string {
  if (name === "CADASTRE_PORT") return "CADASTRE_LISTEN";
  return nearest(name, name.endsWith("_FILE") ? settable : plain);
}
