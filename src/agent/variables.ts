/**
 * What a job gives its engine besides the configuration: a file of variables for `-var-file`, which alone beats `*.auto.tfvars`, the
 * environment, and the configuration of the CLI. Refuses what would replace something that the agent itself relies on.
 */
import { HclFault, readHcl } from "../kernel/hcl.ts";
import { shownValues } from "../kernel/secret-forms.ts";
import { version } from "../version.ts";
import type { Job, JobVariable } from "./job.ts";
import { ConfigurationFault } from "./overrides.ts";

/** An identifier of HCL; nothing else can be declared, so nothing else can be meant. */
const identifier = /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u;

/**
 * One file of JSON for `-var-file`; undefined without variables. In JSON no part of a name or value can become syntax, and so set a
 * variable that its author may not set. Raises ConfigurationFault for a value in HCL that is not one literal.
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

/** What the sandbox and the steps of a phase rely on. */
const refused = new Set([
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
  // What C libraries do not listen to in programs with privileges, for good reasons.
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

/** Whether an environment variable may be set by a workspace. */
export function mayBeSet(name: string, value = ""): boolean {
  const isForeign = refused.has(name) || name.startsWith("LD_") || name.startsWith("TF_TOKEN_");
  return /^[^=\0]+$/.test(name) && !isForeign && !(name.startsWith("TF_CLI_ARGS") && asksToDestroy(value));
}

/** Only the run says whether it destroys: that needs a permission of its own. Engines read quotes and backslashes as a shell does. */
const asksToDestroy = (words: string): boolean => /(^|\s)--?destroy\b/.test(words.replaceAll(/["'\\]/g, ""));

export interface Places {
  readonly home: string;
  readonly tmp: string;
  readonly cliConfiguration: string;
  readonly sshKey: string;
  readonly gitConfiguration: string;
  /** Where the keys of hosts are, and whether only those are trusted. */
  readonly knownHosts: { readonly file: string; readonly isComplete: boolean };
  readonly ca: string | undefined;
}

export interface Environment {
  readonly variables: Record<string, string>;
  /** Names of the workspace's that were not taken over. */
  readonly refused: readonly string[];
}

/** All that the engine's process has: nothing of the agent's own. */
export function environmentOf(job: Job, places: Places): Environment {
  const own = job.variables.filter(({ category }) => category === "env");
  const taken = own.filter(({ key, value }) => mayBeSet(key, value));
  const facts = factsOf(job);
  const variables: Record<string, string> = {
    ...(places.ca === undefined ? {} : caVariables(places.ca)),
    LANG: "C.UTF-8",
    ...Object.fromEntries(taken.map(({ key, value }) => [key, value.replaceAll("\0", "")])),
    ...facts,
    ...Object.fromEntries(Object.entries(facts).map(([name, value]) => [`TF_VAR_${name}`, value])),
    ...Object.fromEntries(job.identityTokens.map(({ name, value }) => [name, value])),
    ...(job.sshKey === null ? {} : { GIT_SSH_COMMAND: sshCommand(places), GIT_CONFIG_GLOBAL: places.gitConfiguration }),
    ...(job.debuggingMode ? { TF_LOG: "TRACE" } : {}),
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: places.home,
    TMPDIR: places.tmp,
    TF_IN_AUTOMATION: "1",
    TF_INPUT: "0",
    CHECKPOINT_DISABLE: "1",
    TF_CLI_CONFIG_FILE: places.cliConfiguration,
    TF_WORKSPACE: job.workspaceName,
    TFC_AGENT_VERSION: agentVersion,
    CADASTRE_AGENT_VERSION: version,
  };
  return { variables, refused: own.filter(({ key, value }) => !mayBeSet(key, value)).map(({ key }) => key) };
}

/** Engines ask for at least 1.10 before they import by configuration; it is what our steps are equal to, not our own version. */
const agentVersion = "1.22.0";

const caVariables = (file: string) => ({ SSL_CERT_FILE: file, GIT_SSL_CAINFO: file, CURL_CA_BUNDLE: file });

/** Without known hosts there is nothing to check against: then a host is trusted on first sight. */
export const sshCommand = ({
  sshKey,
  knownHosts: { file, isComplete },
}: Pick<Places, "sshKey" | "knownHosts">): string =>
  `ssh -i ${sshKey} -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=${file} -o StrictHostKeyChecking=${isComplete ? "yes" : "accept-new"}`;

function factsOf(job: Job): Record<string, string> {
  const facts: Record<string, string | null> = {
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
    Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== ""),
  );
}

/** What must not be read in a log. */
export function secretsOf(job: Job): string[] {
  return [
    job.token,
    ...job.identityTokens.map(({ value }) => value),
    ...(job.sshKey === null ? [] : [job.sshKey]),
    ...job.variables.filter(({ sensitive }) => sensitive).flatMap(shownValues),
  ];
}

export interface CliConfiguration {
  /** The server as people call it, and as this agent reaches it; tokens and services are known by both names. */
  readonly publicUrl: string;
  readonly agentUrl: string;
  readonly token: string;
  /** As the engine sees it: a directory, or the URL of a network mirror. */
  readonly mirror: string | undefined;
  readonly direct: boolean;
}

const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"] as const;

export function cliConfiguration({ publicUrl, agentUrl, token, mirror, direct }: CliConfiguration): string {
  const hosts = [...new Set([publicUrl, agentUrl].map(hostOf))];
  // The address of discovery would be https, always: without TLS, services have to be told.
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

/** `https://one.example:8443/sub` → `one.example:8443`; the port that https has anyway is no part of a host's name. */
export function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return port === "" ? (protocol === "http:" ? `${hostname}:80` : hostname) : `${hostname}:${port}`;
}

const hcl = (text: string) => JSON.stringify(text).replaceAll("${", "$$${").replaceAll("%{", "%%{");
