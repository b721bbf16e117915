/** The client's tests that are in scope, by area, as prefixes of test names. */

export interface Area {
  readonly name: string;
  /** Prefixes of test names. The first matching area wins. */
  readonly tests: readonly RegExp[];
}

/** A test's verb follows its subject (`TestTeamsList`), or an underscore does. */
const of = (subject: string) => new RegExp(`^Test${subject}(?![a-z])`);

export const areas: readonly Area[] = [
  { name: "Workspaces", tests: [of("Workspaces"), /^TestWorkspace_/] },
  { name: "Projects", tests: [of("Projects")] },
  { name: "Team access to workspaces", tests: [of("TeamAccesses")] },
  { name: "Team access to projects", tests: [of("TeamProjectAccesses")] },
  // Module tests belong to the registry.
  { name: "State versions", tests: [of("StateVersions")] },
  { name: "State version outputs", tests: [of("StateVersionOutputs")] },
  { name: "Workspace resources", tests: [of("WorkspaceResources")] },
  { name: "Variables", tests: [of("Variables")] },
  { name: "Variable sets", tests: [of("VariableSets"), of("VariableSetVariables")] },
  { name: "Organization tags", tests: [of("OrganizationTags")] },
  { name: "Reserved tag keys", tests: [of("ReservedTagKeys")] },
  { name: "SSH keys", tests: [of("SSHKeys")] },
  { name: "Agent pools", tests: [of("AgentPools")] },
  { name: "Organizations", tests: [of("Organizations")] },
  { name: "Administration of organizations", tests: [of("AdminOrganizations")] },
  { name: "Lifetimes of tokens", tests: [of("OrganizationTokenTTLPolicies")] },
  { name: "Versions of Terraform", tests: [of("AdminTerraformVersions")] },
  { name: "Organization memberships", tests: [of("OrganizationMemberships")] },
  { name: "Organization tokens", tests: [of("OrganizationTokens")] },
  { name: "Teams", tests: [of("Teams")] },
  { name: "Team members", tests: [of("TeamMembers")] },
  { name: "Team tokens", tests: [of("TeamTokens")] },
  { name: "Users", tests: [of("Users")] },
  { name: "Configuration versions", tests: [of("ConfigurationVersions")] },
  { name: "Runs", tests: [of("Runs"), /^TestRun_/, of("RunCreateOptions")] },
  { name: "Plans and applies", tests: [of("Plans"), /^TestPlan_/, of("Applies"), of("LogReader")] },
  { name: "Run events and comments", tests: [of("RunEvents"), of("Comments")] },
  { name: "Run triggers", tests: [of("RunTrigger")] },
  { name: "Administration of runs", tests: [of("AdminRuns?")] },
  { name: "Agent tokens", tests: [of("AgentTokens")] },
  { name: "Connections to version control", tests: [of("OAuthClients"), of("OAuthTokens")] },
  { name: "Notification configurations", tests: [of("NotificationConfigurations?")] },
];

/** Tests that read the whole server, or change the shared account, run alone. */
export const alone = [/^TestUsers/, /^TestOrganizationsList$/, /^TestAdminRuns_List/];
