/** What a team may do in the whole organization, in words. */

export const visibilities = [
  { value: "organization", label: "the whole organization" },
  { value: "secret", label: "its members, and owners" },
];

/** Those that mean something here; the others are kept for clients that send them. */
export const abilities: readonly { readonly name: string; readonly label: string; readonly about: string }[] = [
  { name: "read-workspaces", label: "Read workspaces", about: "See every workspace, its state and its variables." },
  { name: "manage-workspaces", label: "Manage workspaces", about: "Administer every workspace, and make new ones." },
  { name: "read-projects", label: "Read projects", about: "See every project." },
  { name: "manage-projects", label: "Manage projects", about: "Administer every project, with its workspaces." },
  { name: "manage-teams", label: "Manage teams", about: "Make, change and delete teams, and their tokens." },
  { name: "manage-membership", label: "Manage membership", about: "Invite people, and put them into teams." },
  {
    name: "manage-organization-access",
    label: "Manage organization access",
    about: "Change what teams may do in the whole organization, up to what they hold themselves.",
  },
  { name: "access-secret-teams", label: "See secret teams", about: "Know of teams that are hidden from others." },
  { name: "manage-vcs-settings", label: "Manage connections", about: "Version control and SSH keys." },
  { name: "manage-agent-pools", label: "Manage agent pools", about: "Pools, their agents and tokens." },
  { name: "manage-policies", label: "Manage policies", about: "" },
  { name: "manage-policy-overrides", label: "Override policies", about: "" },
  { name: "delegate-policy-overrides", label: "Delegate overrides of policies", about: "" },
  { name: "manage-run-tasks", label: "Manage run tasks", about: "" },
  { name: "manage-modules", label: "Manage modules", about: "" },
  { name: "manage-providers", label: "Manage providers", about: "" },
];

/** "manage projects, read workspaces"; owners hold everything. */
export function wordsOf(access: Readonly<Record<string, unknown>> | undefined, team: string): string {
  if (team === "owners") return "everything";
  const held = abilities.filter(({ name }) => access?.[name] === true).map(({ label }) => label.toLowerCase());
  return held.join(", ") || "–";
}
