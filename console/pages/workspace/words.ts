/** Words for the settings of a workspace, the same wherever they are shown. */

export const modeNames: Readonly<Record<string, string>> = {
  remote: "Remote",
  agent: "Agent",
  local: "Local",
};

export const engineNames: Readonly<Record<string, string>> = { terraform: "Terraform", tofu: "OpenTofu" };
