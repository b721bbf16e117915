/** A workspace's repository as its document has it. */
import type { Resource } from "../../api/client.ts";

/** The response has attributes that the OpenAPI document's input omits. */
export interface Repository {
  readonly identifier: string;
  readonly branch: string;
  readonly "ingress-submodules": boolean;
  readonly "oauth-token-id": string | null;
  readonly "repository-http-url": string;
  readonly "service-provider": string;
  readonly "tags-regex": string | null;
  readonly "webhook-url": string | null;
}

interface WebhookInstructions {
  readonly location: string;
  readonly secret: string;
  readonly events: string;
}

const alike: WebhookInstructions = {
  location: "In the repository's settings, under Webhooks",
  secret: "goes into “Secret”",
  events: "pushes and pull requests",
};
const gitlab: WebhookInstructions = {
  ...alike,
  secret: "goes into “Secret token”",
  events: "pushes, tag pushes and merge requests",
};
const azure: WebhookInstructions = {
  location: "In the project's settings, under Service hooks, as “Web Hooks”",
  secret: "is the password of basic authentication; the user name is cadastre",
  events: "code pushed, pull request created and pull request updated",
};

export function webhookInstructionsOf(provider: string): WebhookInstructions {
  if (provider.startsWith("gitlab")) return gitlab;
  return provider.startsWith("ado") ? azure : alike;
}

export const repositoryOf = ({ attributes }: Resource<"workspaces">): Repository | null =>
  attributes["vcs-repo"] as Repository | null;
