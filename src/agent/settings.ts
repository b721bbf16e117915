/** The settings of `cadastre agent`. */
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
import { engineFetchTable, type EngineFetchSettings } from "./fetching/settings.ts";
import { type Product, products } from "./products.ts";
import { type SandboxKind, sandboxKinds } from "../sandbox/launch.ts";

export interface AgentSettings extends EngineFetchSettings {
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

const parseBoolean = (text: string) => oneOf(["true", "false"])(text) === "true";

type AgentSettingTable = { readonly [Name in keyof AgentSettings]: Setting<NonNullable<AgentSettings[Name]>> };

export const agentSettingTable: AgentSettingTable = {
  agentServer: {
    variable: "CADASTRE_AGENT_SERVER",
    isRequired: true,
    shape: "URL",
    doc: "URL of the server, for the agent and its engines. The agent connects to the server, never the other way round. Required.",
    initially: undefined,
    parse: parseUrl,
  },
  agentToken: {
    variable: "CADASTRE_AGENT_TOKEN",
    isSecret: true,
    isRequired: true,
    shape: "TOKEN",
    doc: "Token of the agent pool. Required. Other users of this machine can see flags, so prefer the environment variable or the settings file.",
    initially: undefined,
    parse: parseToken,
  },
  agentName: {
    variable: "CADASTRE_AGENT_NAME",
    shape: "NAME",
    doc: "Name of the agent in its pool. Defaults to the hostname.",
    initially: hostname() || "agent",
    parse: parseName,
  },
  agentSlots: {
    variable: "CADASTRE_AGENT_SLOTS",
    shape: "NUMBER",
    doc: "Number of jobs that run at the same time.",
    initially: "1",
    parse: wholeNumber(1, 64),
  },
  agentDirectory: {
    variable: "CADASTRE_AGENT_DIRECTORY",
    shape: "DIRECTORY",
    doc: "Directory for running jobs, and for the states of lost applies. Each agent needs its own. Unless the sandbox is bubblewrap, use the same path on all agents of a pool.",
    initially: "data/agent",
    parse: (text) => resolve(text),
  },
  engines: {
    variable: "CADASTRE_ENGINES",
    shape: "DIRECTORY",
    doc: "Directory with the engines, as terraform/VERSION/terraform and tofu/VERSION/tofu. The agent finds new versions without a restart, and fetches missing ones into it.",
    initially: "data/engines",
    parse: (text) => resolve(text),
  },
  ...engineFetchTable,
  engine: {
    variable: "CADASTRE_ENGINE",
    shape: "ENGINE",
    doc: "terraform or tofu: the engine for jobs that don't name one.",
    initially: "terraform",
    parse: oneOf(products),
  },
  sandbox: {
    variable: "CADASTRE_SANDBOX",
    shape: "KIND",
    doc: "bubblewrap, user or none: how jobs, which run other people's code, are isolated from this machine. Defaults to the strongest that works, but never to none.",
    initially: undefined,
    parse: oneOf(sandboxKinds),
  },
  sandboxUid: {
    variable: "CADASTRE_SANDBOX_UID",
    shape: "NUMBER",
    doc: "First of the user ids that jobs get, one per slot, if the agent runs as root. Ids that another agent on this machine uses are skipped. Nothing else may use these ids: the agent kills every process of theirs.",
    initially: "58000",
    parse: wholeNumber(1000, 2_000_000_000),
  },
  providerMirror: {
    variable: "CADASTRE_PROVIDER_MIRROR",
    shape: "WHERE",
    doc: "Source of providers: a directory (HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/, or packed archives), or the https URL of a network mirror. Defaults to the registries.",
    initially: undefined,
    parse: parseMirror,
  },
  providerDirect: {
    variable: "CADASTRE_PROVIDER_DIRECT",
    shape: "BOOLEAN",
    doc: "true or false: whether engines can also download providers from the registries. Defaults to true without a mirror, false with one.",
    initially: undefined,
    parse: parseBoolean,
  },
  ca: {
    variable: "CADASTRE_AGENT_CA",
    shape: "FILE",
    doc: "PEM file with certificates that the agent and its engines trust in addition to the system's, for a server with a self-signed certificate. Defaults to NODE_EXTRA_CA_CERTS.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  knownHosts: {
    variable: "CADASTRE_SSH_KNOWN_HOSTS",
    shape: "FILE",
    doc: "known_hosts file for modules that are downloaded over SSH; only these hosts are trusted. If unset, a host is trusted on first use.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  jobMemoryMegabytes: {
    variable: "CADASTRE_JOB_MEMORY_MEGABYTES",
    shape: "NUMBER",
    doc: "Memory limit per job; 0 for no limit. Needs a delegated cgroup (v2); the agent logs at its start whether it has one.",
    initially: "4096",
    parse: wholeNumber(0, 16_777_216),
  },
  jobProcesses: {
    variable: "CADASTRE_JOB_PROCESSES",
    shape: "NUMBER",
    doc: "Limit of processes and threads per job; 0 for no limit. Needs a delegated cgroup (v2).",
    initially: "2048",
    parse: wholeNumber(0, 4_194_304),
  },
  jobDiskMegabytes: {
    variable: "CADASTRE_JOB_DISK_MEGABYTES",
    shape: "NUMBER",
    doc: "Disk limit per job, for configuration, modules, providers, plan and state. Checked every few seconds.",
    initially: "8192",
    parse: wholeNumber(1, 16_777_216),
  },
  jobTmpMegabytes: {
    variable: "CADASTRE_JOB_TMP_MEGABYTES",
    shape: "NUMBER",
    doc: "Size of /tmp inside bubblewrap, which is kept in memory.",
    initially: "512",
    parse: wholeNumber(1, 16_777_216),
  },
  jobFileMegabytes: {
    variable: "CADASTRE_JOB_FILE_MEGABYTES",
    shape: "NUMBER",
    doc: "Maximum size of a file that a job writes.",
    initially: "4096",
    parse: wholeNumber(1, 16_777_216),
  },
  jobOpenFiles: {
    variable: "CADASTRE_JOB_OPEN_FILES",
    shape: "NUMBER",
    doc: "Maximum number of open files per process of a job.",
    initially: "4096",
    parse: wholeNumber(64, 1_048_576),
  },
};

/** Throws SettingError. */
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
