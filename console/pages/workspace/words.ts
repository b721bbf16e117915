/** Words for the settings of a workspace, the same wherever they are shown. */

export const modeNames: Readonly<Record<string, string>> = {
  remote: "by the service (remote)",
  agent: "by an agent of a pool",
  local: "where people run it (local)",
};

export const engineNames: Readonly<Record<string, string>> = { terraform: "Terraform", tofu: "OpenTofu" };
