/**
 * The provider's tests that are in scope, by area, as prefixes of test names. Other tests need features that Cadastre doesn't have: policies, a
 * registry, run tasks, stacks, SAML and SCIM.
 */
import type { Area } from "./areas.ts";

/** The tests of a resource, and of the data source of the same name: `TestAccTFESSHKey_basic`, `TestAccTFESSHKeyDataSource_basic`. */
const of = (subject: string) => new RegExp(`^Test(Acc)?TFE${subject}(Import|DataSource)?(_|$)`);
const named = (...names: string[]) => new RegExp(`^(${names.join("|")})(_|$)`);

export const providerAreas: readonly Area[] = [
  {
    name: "Workspaces",
    tests: [
      of("Workspace"),
      of("WorkspaceIDs"),
      named("TestAccTFEWorkspaceDataSourceWithTriggerPatterns", "TestAccTFEWorkspaceProviderDefaultOrgChanged"),
      named(
        "TestFetchWorkspaceExternalID",
        "TestFetchWorkspaceHumanID",
        "TestPackWorkspaceID",
        "TestUnpackWorkspaceID",
      ),
      named("TestResourceTfeWorkspaceStateUpgradeV0", "TestTagValidation"),
    ],
  },
  {
    name: "Workspace settings, and consumers of state",
    tests: [of("WorkspaceSettings"), of("WorkspaceSettingsRemoteState"), named("TestReadWorkspaceStateConsumers")],
  },
  {
    name: "Projects",
    tests: [of("Projects?"), named("TestResourceTFEProjectRead")],
  },
  { name: "Project settings", tests: [of("ProjectSettings")] },
  { name: "Outputs", tests: [of("Outputs"), named("TestAccOutputsEphemeralResource")] },
  { name: "Variables", tests: [of("Variables?"), named("TestResourceTFEVariableRead")] },
  {
    name: "Variable sets",
    tests: [of("VariableSets?"), of("WorkspaceVariableSet"), of("ProjectVariableSet")],
  },
  {
    name: "Team access to workspaces",
    tests: [of("TeamAccess"), named("TestResourceTfeTeamAccessStateUpgradeV0")],
  },
  { name: "Team access to projects", tests: [of("TeamProjectAccess"), of("TeamProjectCustomAccess")] },
  { name: "Teams", tests: [of("Teams?")] },
  {
    name: "Team members",
    tests: [
      of("TeamMembers?"),
      of("TeamOrganizationMembers?"),
      named("TestPackTeamMemberID", "TestUnpackTeamMemberID"),
      named("TestPackTeamOrganizationMemberID", "TestUnpackTeamOrganizationMemberID"),
    ],
  },
  { name: "Team tokens", tests: [of("TeamToken"), named("TestAccTeamTokenEphemeralResource")] },
  {
    name: "Organizations",
    tests: [of("Organizations?"), of("AdminOrganizationSettings"), of("OrganizationAuditConfiguration")],
  },
  { name: "Organization default settings", tests: [of("OrganizationDefaultSettings")] },
  {
    name: "Organization memberships",
    tests: [of("OrganizationMembership"), of("OrganizationMembers"), named("TestFetchOrganizationMembers")],
  },
  { name: "Organization and audit trail tokens", tests: [of("OrganizationToken"), of("AuditTrailToken")] },
  { name: "Lifetimes of tokens", tests: [of("OrgMaxTokenTTLPolicy")] },
  { name: "Organization tags", tests: [of("OrganizationTags")] },
  { name: "Users", tests: [named("TestAccCurrentUserDataSource")] },
  { name: "SSH keys", tests: [of("SSHKey")] },
  {
    name: "Agent pools, and their tokens",
    tests: [of("AgentPool(Allowed|Excluded)?(Projects|Workspaces)?"), of("AgentToken")],
  },
  {
    name: "Connections to version control",
    tests: [
      of("OAuthClient"),
      of("OAuthClientWithOrganizationScoped"),
      of("ProjectOAuthClient"),
      of("GHAInstallation"),
    ],
  },
  { name: "Runs", tests: [of("WorkspaceRun")] },
  { name: "Run triggers", tests: [of("RunTrigger")] },
  { name: "Notification configurations", tests: [of("(Project|Team)?NotificationConfiguration")] },
  { name: "Data retention", tests: [of("DataRetentionPolicy")] },
  { name: "Versions of Terraform", tests: [of("TerraformVersion")] },
  {
    name: "The provider itself",
    tests: [
      /^TestProvider(_|$)/,
      /^TestConfigureEnv/,
      /^TestTFEVersion/,
      named("Test_meetsMinTFEVersion", "TestModifyPlanForDefaultOrganizationChange", "TestIsResourceIDFormat"),
      named("TestAccTFEVersionFiles"),
    ],
  },
];

/** Reads every organization of the server, so it runs alone. */
export const alone = [named("TestAccTFEOrganizationsDataSource")];

/** Tests of a quick run: create, update and import each resource. */
export const quickTests = /_(basic|update|import)|Settings/;
