/** The engine's own configuration file: the run's token, where the server's services are, and where providers come from. */

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
