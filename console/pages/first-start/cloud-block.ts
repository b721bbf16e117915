/** Builds the `cloud` block and CLI configuration for the address at which this page was opened. */

export interface Place {
  readonly origin: string;
  readonly organization: string;
  readonly workspace: string;
}

/** The CLI discovers hosts only over HTTPS, so a server without TLS is configured under a made-up name. */
export const nameOverHttp = "cadastre.internal";

export const isOverHttps = ({ origin }: Pick<Place, "origin">): boolean => origin.startsWith("https:");
export const hostnameOf = (place: Pick<Place, "origin">): string =>
  isOverHttps(place) ? new URL(place.origin).host : nameOverHttp;

export const cloudBlock = (place: Place): string => `terraform {
  cloud {
    hostname     = "${hostnameOf(place)}"
    organization = "${place.organization}"
    workspaces {
      name = "${place.workspace}"
    }
  }
}`;

export const firstResource = `resource "terraform_data" "first" {
  input = "kept in Cadastre"
}`;

const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"];

/** The CLI configuration file: the token and, over HTTP, also the service URLs. */
export function cliConfiguration(place: Place, token: string): string {
  const credentials = `credentials "${hostnameOf(place)}" {\n  token = "${token}"\n}`;
  if (isOverHttps(place)) return credentials;
  const lines = services.map((name) => `    ${`"${name}"`.padEnd(10)} = "${place.origin}/api/v2/"`);
  return `host "${nameOverHttp}" {\n  services = {\n${lines.join("\n")}\n  }\n}\n${credentials}`;
}

export const commands = `export TF_CLI_CONFIG_FILE=$PWD/cadastre.tfrc
terraform init
terraform apply`;
