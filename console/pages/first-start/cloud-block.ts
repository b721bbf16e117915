/** Builds the `cloud` block and CLI configuration for the address at which this page was opened. */

export interface CloudBlockValues {
  readonly origin: string;
  readonly organization: string;
  readonly workspace: string;
}

/** The CLI discovers hosts only over HTTPS, so a server without TLS gets a made-up name. */
export const nameOverHttp = "cadastre.internal";

export const isOverHttps = ({ origin }: Pick<CloudBlockValues, "origin">): boolean => origin.startsWith("https:");
export const hostnameOf = (values: Pick<CloudBlockValues, "origin">): string =>
  isOverHttps(values) ? new URL(values.origin).host : nameOverHttp;

export const cloudBlock = (values: CloudBlockValues): string => `terraform {
  cloud {
    hostname     = "${hostnameOf(values)}"
    organization = "${values.organization}"
    workspaces {
      name = "${values.workspace}"
    }
  }
}`;

export const firstResource = `resource "terraform_data" "first" {
  input = "kept in Cadastre"
}`;

const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"];

export function cliConfiguration(values: CloudBlockValues, token: string): string {
  const credentials = `credentials "${hostnameOf(values)}" {\n  token = "${token}"\n}`;
  if (isOverHttps(values)) return credentials;
  const lines = services.map((name) => `    ${`"${name}"`.padEnd(10)} = "${values.origin}/api/v2/"`);
  return `host "${nameOverHttp}" {\n  services = {\n${lines.join("\n")}\n  }\n}\n${credentials}`;
}

export const commands = `export TF_CLI_CONFIG_FILE=$PWD/cadastre.tfrc
terraform init
terraform apply`;
