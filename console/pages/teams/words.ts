/** The organization permissions of a team, in words. */

export const visibilities = [
  { value: "organization", label: "Organization: all members can see it" },
  { value: "secret", label: "Secret: only its members and owners can see it" },
];

/** Only those that have an effect here; others are stored for clients that send them. */
export const abilities: readonly { readonly name: string; readonly label: string; readonly about: string }[] = [
  { name: "read-workspaces", label: "Read workspaces", about: "See every workspace, its state and its variables." },
  { name: "manage-workspaces", label: "Manage workspaces", about: "Administer every workspace, and create new ones." },
  { name: "read-projects", label: "Read projects", about: "See every project." },
  { name: "manage-projects", label: "Manage projects", about: "Administer every project, with its workspaces." },
  { name: "manage-teams", label: "Manage teams", about: "Create, change and delete teams and their tokens." },
  { name: "manage-membership", label: "Manage membership", about: "Invite people and add them to teams." },
  {
    name: "manage-organization-access",
    label: "Manage organization access",
    about: "Change teams' organization permissions, up to their own.",
  },
  { name: "access-secret-teams", label: "See secret teams", about: "See teams that are hidden from others." },
  {
    name: "manage-vcs-settings",
    label: "Manage connections",
    about: "Manage version control connections and SSH keys.",
  },
  { name: "manage-agent-pools", label: "Manage agent pools", about: "Manage agent pools, agents and their tokens." },
  { name: "manage-policies", label: "Manage policies", about: "" },
  { name: "manage-policy-overrides", label: "Override policies", about: "" },
  { name: "delegate-policy-overrides", label: "Delegate policy overrides", about: "" },
  { name: "manage-run-tasks", label: "Manage run tasks", about: "" },
  { name: "manage-modules", label: "Manage modules", about: "" },
  { name: "manage-providers", label: "Manage providers", about: "" },
];

export function wordsOf(access: Readonly<Record<string, unknown>> | undefined, team: string): string {
  if (team === "owners") return "all permissions";
  const held = abilities.filter(({ name }) => access?.[name] === true).map(({ label }) => label.toLowerCase());
  return held.join(", ") || "–";
}
