/** Every setting of `cadastre agent`, parsed and documented once, like those of the service in `settings.ts`. */
import { hostname } from "node:os";
import { isAbsolute, resolve } from "node:path";
import {
  oneOf,
  parseToken,
  parseUrl,
  readTable,
  type Setting,
  SettingError,
  type SettingSources,
  wholeNumber,
} from "../kernel/settings.ts";
import { type SandboxKind, sandboxKinds } from "../sandbox/launch.ts";

export const products = ["terraform", "tofu"] as const;
export type Product = (typeof products)[number];

export interface AgentSettings {
  readonly agentServer: string;
  readonly agentToken: string;
  readonly agentName: string;
  readonly agentSlots: number;
  readonly agentDirectory: string;
  readonly engines: string;
  readonly engine: Product;
  readonly sandbox: SandboxKind | undefined;
  readonly sandboxUid: number;
  readonly providerMirror: string | undefined;
  readonly providerDirect: boolean | undefined;
  readonly ca: string | undefined;
  readonly knownHosts: string | undefined;
  readonly jobMemoryMegabytes: number;
  readonly jobProcesses: number;
  readonly jobDiskMegabytes: number;
  readonly jobTmpMegabytes: number;
  readonly jobFileMegabytes: number;
  readonly jobOpenFiles: number;
}

const truth = (text: string) => oneOf(["true", "false"])(text) === "true";

type Table = { readonly [Name in keyof AgentSettings]: Setting<NonNullable<AgentSettings[Name]>> };

export const agentSettingTable: Table = {
  agentServer: {
    variable: "CADASTRE_AGENT_SERVER",
    isRequired: true,
    shape: "URL",
    doc: "Where the agent, and the engines that it starts, reach the server. The agent asks; nothing asks the agent. Required.",
    initially: undefined,
    parse: parseUrl,
  },
  agentToken: {
    variable: "CADASTRE_AGENT_TOKEN",
    isSecret: true,
    isRequired: true,
    shape: "TOKEN",
    doc: "A token of the agent pool whose jobs it takes. Required. A flag can be seen by everybody on the machine: better by the environment or the settings file.",
    initially: undefined,
    parse: parseToken,
  },
  agentName: {
    variable: "CADASTRE_AGENT_NAME",
    shape: "NAME",
    doc: "How the agent is called in the list of its pool's agents. The machine's name when unset.",
    initially: hostname() || "agent",
    parse: parseName,
  },
  agentSlots: {
    variable: "CADASTRE_AGENT_SLOTS",
    shape: "NUMBER",
    doc: "How many jobs it executes at the same time.",
    initially: "1",
    parse: wholeNumber(1, 64),
  },
  agentDirectory: {
    variable: "CADASTRE_AGENT_DIRECTORY",
    shape: "DIRECTORY",
    doc: "Where jobs have their directories while they are executed, and where the state of a lost apply is kept. Of this agent alone; the same path on all agents of a pool unless the sandbox is bubblewrap.",
    initially: "data/agent",
    parse: (text) => resolve(text),
  },
  engines: {
    variable: "CADASTRE_ENGINES",
    shape: "DIRECTORY",
    doc: "The engines, side by side: terraform/VERSION/terraform and tofu/VERSION/tofu. The folder's name is the version. Looked at again and again: a version that is added needs no restart.",
    initially: "data/engines",
    parse: (text) => resolve(text),
  },
  engine: {
    variable: "CADASTRE_ENGINE",
    shape: "ENGINE",
    doc: "terraform or tofu: which to take where a job does not say.",
    initially: "terraform",
    parse: oneOf(products),
  },
  sandbox: {
    variable: "CADASTRE_SANDBOX",
    shape: "KIND",
    doc: "bubblewrap, user or none: what keeps other people's code from this machine. The strongest that works when unset; none only when it is asked for here.",
    initially: undefined,
    parse: oneOf(sandboxKinds),
  },
  sandboxUid: {
    variable: "CADASTRE_SANDBOX_UID",
    shape: "NUMBER",
    doc: "The first of the user ids, one for each slot, that jobs get when the agent is started as root; those that another agent of this machine has are passed over. Nobody else may have them: all that runs as them is killed.",
    initially: "58000",
    parse: wholeNumber(1000, 2_000_000_000),
  },
  providerMirror: {
    variable: "CADASTRE_PROVIDER_MIRROR",
    shape: "WHERE",
    doc: "Where engines get providers from: a directory (HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/, or the packed archives), or the https URL of a network mirror. The registries when unset.",
    initially: undefined,
    parse: parseMirror,
  },
  providerDirect: {
    variable: "CADASTRE_PROVIDER_DIRECT",
    shape: "BOOLEAN",
    doc: "true or false: whether engines may get providers from the registries too. Unset, they may where there is no mirror.",
    initially: undefined,
    parse: truth,
  },
  ca: {
    variable: "CADASTRE_AGENT_CA",
    shape: "FILE",
    doc: "Certificates (PEM) that the agent and its engines trust besides those of the system; for a server with a certificate of your own making. NODE_EXTRA_CA_CERTS is taken too.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  knownHosts: {
    variable: "CADASTRE_SSH_KNOWN_HOSTS",
    shape: "FILE",
    doc: "The keys of the hosts that modules are fetched from by SSH; then no others are trusted. Unset, a host is trusted on first sight.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  jobMemoryMegabytes: {
    variable: "CADASTRE_JOB_MEMORY_MEGABYTES",
    shape: "NUMBER",
    doc: "Memory for one job; 0 for no limit. Needs a delegated cgroup (v2): the agent says at its start whether there is one.",
    initially: "4096",
    parse: wholeNumber(0, 16_777_216),
  },
  jobProcesses: {
    variable: "CADASTRE_JOB_PROCESSES",
    shape: "NUMBER",
    doc: "Processes and threads of one job; 0 for no limit. Needs a delegated cgroup too.",
    initially: "2048",
    parse: wholeNumber(0, 4_194_304),
  },
  jobDiskMegabytes: {
    variable: "CADASTRE_JOB_DISK_MEGABYTES",
    shape: "NUMBER",
    doc: "What a job's directory may hold: configuration, modules, providers, plan and state. Looked at every few seconds.",
    initially: "8192",
    parse: wholeNumber(1, 16_777_216),
  },
  jobTmpMegabytes: {
    variable: "CADASTRE_JOB_TMP_MEGABYTES",
    shape: "NUMBER",
    doc: "The size of /tmp inside bubblewrap. It is memory.",
    initially: "512",
    parse: wholeNumber(1, 16_777_216),
  },
  jobFileMegabytes: {
    variable: "CADASTRE_JOB_FILE_MEGABYTES",
    shape: "NUMBER",
    doc: "The largest file that a job may write.",
    initially: "4096",
    parse: wholeNumber(1, 16_777_216),
  },
  jobOpenFiles: {
    variable: "CADASTRE_JOB_OPEN_FILES",
    shape: "NUMBER",
    doc: "Files that each process of a job may have open.",
    initially: "4096",
    parse: wholeNumber(64, 1_048_576),
  },
};

/** Raises SettingError. */
export function readAgentSettings(sources: SettingSources): AgentSettings {
  const options = { help: "cadastre agent --help" };
  const settings = readTable(agentSettingTable, sources, options) as unknown as AgentSettings;
  const extra = sources.environment?.["NODE_EXTRA_CA_CERTS"];
  return settings.ca === undefined && extra ? { ...settings, ca: resolve(extra) } : settings;
}

function parseName(text: string): string {
  if (!/^[\w .@:-]{1,90}$/.test(text))
    throw new SettingError("must be 1 to 90 letters, numbers, spaces and . _ - @ : of ASCII.");
  return text;
}

function parseMirror(text: string): string {
  if (/^https:\/\/./.test(text) && URL.canParse(text)) return text.endsWith("/") ? text : `${text}/`;
  if (/^[a-z]+:\/\//.test(text)) throw new SettingError("must be a directory or an https URL.");
  return isAbsolute(text) ? text : resolve(text);
}
