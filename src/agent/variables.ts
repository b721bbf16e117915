/** Builds the engine's variable file, environment and CLI configuration. A workspace must not override what the agent relies on. */
import { HclFault, readHcl } from "../kernel/hcl.ts";
import { maskedValues } from "../kernel/secret-spellings.ts";
import { version } from "../version.ts";
import type { JobDocument, JobVariable } from "./job.ts";
import { ConfigurationFault } from "./overrides.ts";

/** An HCL identifier. Other names can't be declared, so they are skipped. */
const identifier = /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u;

/**
 * Only `-var-file` overrides `*.auto.tfvars`. JSON, so that no value can inject HCL. Throws ConfigurationFault for a non-literal HCL value.
 */
export function variableFile(variables: readonly JobVariable[]): string | undefined {
  const members = new Map<string, string>();
  const faults: string[] = [];
  for (const { category, key, value, hcl } of variables) {
    if (category !== "terraform" || !identifier.test(key)) continue;
    try {
      members.set(key, hcl ? readHcl(value).json : JSON.stringify(value));
    } catch (error) {
      if (!(error instanceof HclFault)) throw error;
      faults.push(`The HCL value of the variable ${key} can't be used: ${error.message}.`);
    }
  }
  if (faults.length > 0) throw new ConfigurationFault(`${faults.join(" ")} Correct it and start another run.`);
  if (members.size === 0) return undefined;
  const lines = [...members].map(([key, json]) => `  ${JSON.stringify(key)}: ${json}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}

const reserved = new Set([
  "PATH",
  "HOME",
  "TMPDIR",
  "USER",
  "SHELL",
  "TF_CLI_CONFIG_FILE",
  "TERRAFORM_CONFIG",
  "TF_DATA_DIR",
  "TF_WORKSPACE",
  "TF_IN_AUTOMATION",
  "TF_INPUT",
  "TF_FORCE_LOCAL_BACKEND",
  "TF_PLUGIN_CACHE_DIR",
  "CHECKPOINT_DISABLE",
  "BASH_ENV",
  "ENV",
  // C libraries ignore these in privileged programs.
  "GCONV_PATH",
  "GETCONF_DIR",
  "GLIBC_TUNABLES",
  "HOSTALIASES",
  "LOCALDOMAIN",
  "LOCPATH",
  "MALLOC_TRACE",
  "NIS_PATH",
  "NLSPATH",
  "RESOLV_HOST_CONF",
  "RES_OPTIONS",
  "TZDIR",
]);

export function canBeSet(name: string, value = ""): boolean {
  const isReserved = reserved.has(name) || name.startsWith("LD_") || name.startsWith("TF_TOKEN_");
  return /^[^=\0]+$/.test(name) && !isReserved && !(name.startsWith("TF_CLI_ARGS") && requestsDestroy(value));
}

/** Destroying needs a separate permission: only the run's options can request it. Engines parse quotes and backslashes like a shell. */
const requestsDestroy = (words: string): boolean => /(^|\s)--?destroy\b/.test(words.replaceAll(/["'\\]/g, ""));

export interface EnginePaths {
  readonly home: string;
  readonly tmp: string;
  readonly cliConfiguration: string;
  readonly sshKey: string;
  readonly gitConfiguration: string;
  /** `isComplete`: only the hosts in the file are trusted. */
  readonly knownHosts: { readonly file: string; readonly isComplete: boolean };
  readonly ca: string | undefined;
}

export interface EngineEnvironment {
  readonly variables: Record<string, string>;
  readonly refused: readonly string[];
}

/** Contains nothing of the agent's environment. */
export function environmentOf(job: JobDocument, paths: EnginePaths): EngineEnvironment {
  const fromWorkspace = job.variables.filter(({ category }) => category === "env");
  const accepted = fromWorkspace.filter(({ key, value }) => canBeSet(key, value));
  const runVariables = runVariablesOf(job);
  const variables: Record<string, string> = {
    ...(paths.ca === undefined ? {} : caVariables(paths.ca)),
    LANG: "C.UTF-8",
    ...Object.fromEntries(accepted.map(({ key, value }) => [key, value.replaceAll("\0", "")])),
    ...runVariables,
    ...Object.fromEntries(Object.entries(runVariables).map(([name, value]) => [`TF_VAR_${name}`, value])),
    ...Object.fromEntries(job.identityTokens.map(({ name, value }) => [name, value])),
    ...(job.sshKey === null ? {} : { GIT_SSH_COMMAND: sshCommand(paths), GIT_CONFIG_GLOBAL: paths.gitConfiguration }),
    ...(job.debuggingMode ? { TF_LOG: "TRACE" } : {}),
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: paths.home,
    TMPDIR: paths.tmp,
    TF_IN_AUTOMATION: "1",
    TF_INPUT: "0",
    CHECKPOINT_DISABLE: "1",
    TF_CLI_CONFIG_FILE: paths.cliConfiguration,
    TF_WORKSPACE: job.workspaceName,
    TFC_AGENT_VERSION: agentVersion,
    CADASTRE_AGENT_VERSION: version,
  };
  return { variables, refused: fromWorkspace.filter(({ key, value }) => !canBeSet(key, value)).map(({ key }) => key) };
}

/** The compatible version of HCP Terraform's agent; engines require 1.10 for import blocks. */
const agentVersion = "1.22.0";

const caVariables = (file: string) => ({ SSL_CERT_FILE: file, GIT_SSL_CAINFO: file, CURL_CA_BUNDLE: file });

/** Without a known_hosts file, a host is trusted on first use. */
export const sshCommand = ({
  sshKey,
  knownHosts: { file, isComplete },
}: Pick<EnginePaths, "sshKey" | "knownHosts">): string =>
  `ssh -i ${sshKey} -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=${file} -o StrictHostKeyChecking=${isComplete ? "yes" : "accept-new"}`;

function runVariablesOf(job: JobDocument): Record<string, string> {
  const candidates: Record<string, string | null> = {
    TFC_RUN_ID: job.runId,
    TFE_RUN_ID: job.runId,
    TFC_WORKSPACE_ID: job.workspaceId,
    TFC_WORKSPACE_NAME: job.workspaceName,
    TFC_WORKSPACE_SLUG: `${job.organizationName}/${job.workspaceName}`,
    TFC_PROJECT_ID: job.projectId,
    TFC_PROJECT_NAME: job.projectName,
    TFC_CONFIGURATION_VERSION_GIT_BRANCH: job.commit.branch,
    TFC_CONFIGURATION_VERSION_GIT_COMMIT_SHA: job.commit.sha,
    TFC_CONFIGURATION_VERSION_GIT_TAG: job.commit.tag,
  };
  return Object.fromEntries(
    Object.entries(candidates).filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== ""),
  );
}

export function secretsOf(job: JobDocument): string[] {
  return [
    job.token,
    ...job.identityTokens.map(({ value }) => value),
    ...(job.sshKey === null ? [] : [job.sshKey]),
    ...job.variables.filter(({ sensitive }) => sensitive).flatMap(maskedValues),
  ];
}

export interface CliConfiguration {
  /** Credentials are written for the hosts of both URLs. */
  readonly publicUrl: string;
  readonly agentUrl: string;
  readonly token: string;
  readonly mirror: string | undefined;
  readonly direct: boolean;
}

const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"] as const;

export function cliConfiguration({ publicUrl, agentUrl, token, mirror, direct }: CliConfiguration): string {
  const hosts = [...new Set([publicUrl, agentUrl].map(hostOf))];
  // Service discovery always uses https, so servers without TLS need the list.
  const blocks = hosts.flatMap((host) => [
    `credentials ${hcl(host)} {\n  token = ${hcl(token)}\n}\n`,
    `host ${hcl(host)} {\n  services = {\n${services
      .map((service) => `    ${hcl(service)} = ${hcl(`${agentUrl}/api/v2/`)}\n`)
      .join("")}  }\n}\n`,
  ]);
  return ["disable_checkpoint = true\n", ...blocks, installation(mirror, direct)].join("\n");
}

function installation(mirror: string | undefined, direct: boolean): string {
  const methods: string[] = [];
  if (mirror !== undefined)
    methods.push(
      mirror.startsWith("https://")
        ? `  network_mirror {\n    url = ${hcl(mirror)}\n  }\n`
        : `  filesystem_mirror {\n    path = ${hcl(mirror)}\n  }\n`,
    );
  if (direct) methods.push("  direct {}\n");
  return `provider_installation {\n${methods.join("")}}\n`;
}

export function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return port === "" ? (protocol === "http:" ? `${hostname}:80` : hostname) : `${hostname}:${port}`;
}

const hcl = (text: string) => JSON.stringify(text).replaceAll("${", "$$${").replaceAll("%{", "%%{");
