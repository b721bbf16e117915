/** What to paste, so that Terraform or OpenTofu keeps its state here: by the address at which this page was reached. */

export interface Place {
  readonly origin: string;
  readonly organization: string;
  readonly workspace: string;
}

/** A name of one's own choice stands for a service that is reached without TLS: the CLI looks hosts up by HTTPS alone. */
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

/** The CLI's own configuration: the token, and over HTTP also where the services are. */
export function cliConfiguration(place: Place, token: string): string {
  const credentials = `credentials "${hostnameOf(place)}" {\n  token = "${token}"\n}`;
  if (isOverHttps(place)) return credentials;
  const lines = services.map((name) => `    ${`"${name}"`.padEnd(10)} = "${place.origin}/api/v2/"`);
  return `host "${nameOverHttp}" {\n  services = {\n${lines.join("\n")}\n  }\n}\n${credentials}`;
}

export const commands = `export TF_CLI_CONFIG_FILE=$PWD/cadastre.tfrc
terraform init
terraform apply`;
