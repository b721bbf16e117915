/** Which variables of the environment are ours, with the settings of commands that call another server. An unknown variable that begins like ours is a fault: mostly a setting that was misspelled. */
import { agentSettingTable } from "../agent/settings.ts";
import { nearest, parseToken, parseUrl, type Setting, variablesOf } from "../kernel/settings.ts";
import { settingTable } from "../settings.ts";

/** Neither the server nor the agent has these. */
export const commandSettingTable = {
  address: {
    variable: "CADASTRE_ADDRESS",
    shape: "URL",
    doc: "The server to ask over its API, instead of opening the database; needs a token.",
    initially: undefined,
    parse: parseUrl,
  },
  token: {
    variable: "CADASTRE_TOKEN",
    shape: "TOKEN",
    isSecret: true,
    doc: "The token to call that server with. A flag can be seen by everybody on the machine: better by the environment or a file.",
    initially: undefined,
    parse: parseToken,
  },
  importToken: {
    variable: "CADASTRE_IMPORT_TOKEN",
    shape: "TOKEN",
    isSecret: true,
    doc: "The token of the server that an organization is imported from.",
    initially: undefined,
    // Another server's tokens have whatever form it gives them.
    parse: (text) => text,
  },
} as const satisfies Record<string, Setting<string>>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The server's workers and its commands share its environment, so each program knows the others' settings. */
const tables = [settingTable, agentSettingTable, commandSettingTable];
const settable = [...tables.flatMap(variablesOf), "CADASTRE_CONFIG"];
/** Without those that name a secret's file. */
const plain = tables.flatMap((table) => Object.values(table)).map(({ variable }) => variable);

/** What this project's own programs set or read: in runs, in builds and in tests. */
const internal = /^CADASTRE_(?:AGENT_VERSION|FETCH|PROBE|BUILDER|IMAGE|TERRAFORM|CLUSTER_SMALL_DISKS|TEST_\w+)$/;

/**
 * What Kubernetes gives every container about services whose name begins with `cadastre`. `CADASTRE_PORT` has a URL there, so that one
 * with a number is a person's, who meant `CADASTRE_LISTEN`.
 */
function isOfKubernetes(name: string, value: string): boolean {
  if (/^CADASTRE_(?:\w+_)?SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name)) return true;
  if (/^CADASTRE_(?:\w+_)?PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name)) return true;
  return /^CADASTRE_(?:\w+_)?PORT$/.test(name) && /^(?:tcp|udp|sctp):\/\//.test(value);
}

/** A sentence for each. */
export function unknownVariables(environment: Environment): string[] {
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
