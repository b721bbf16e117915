/** A workspace as its pages show it, and the labels of its settings. */
import type { Resource } from "../../api/client.ts";

export interface WorkspaceDetails {
  readonly organization: string;
  readonly workspace: Resource<"workspaces">;
  readonly included: readonly any[];
  readonly etag: string | undefined;
}

export const modeNames: Readonly<Record<string, string>> = {
  remote: "Remote",
  agent: "Agent",
  local: "Local",
};

export const engineNames: Readonly<Record<string, string>> = { terraform: "Terraform", tofu: "OpenTofu" };
