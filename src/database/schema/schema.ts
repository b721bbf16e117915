/** Every table, by area. Migrations define the columns. */
import type { AccessRequestPartyTable, AccessRequestRequirementTable, AccessRequestTable } from "./access-requests.ts";
import type { AccessViolationScanTable, AccessViolationTable } from "./access-violations.ts";
import type { AuditEventTable } from "./audit.ts";
import type {
  ModuleConsumerTable,
  AccessVersionTable,
  AuthorizationTable,
  IdentityTrustTable,
  InvitationTable,
  OrganizationMembershipTable,
  OrganizationTable,
  OrganizationTokenTtlPolicyTable,
  PasswordTable,
  TeamMemberTable,
  TeamTable,
  TokenTable,
  UserTable,
} from "./identity.ts";
import type {
  AgentPoolScopeTable,
  AgentPoolTable,
  AgentTokenTable,
  EngineVersionTable,
  OauthClientProjectTable,
  OauthClientTable,
  OauthTokenTable,
  SshKeyTable,
} from "./connections.ts";
import type { ContentChunkTable, ContentTable, UnattachedObjectTable } from "./contents.ts";
import type {
  AgentTable,
  SiteOperationTable,
  AssessmentResultTable,
  CommentTable,
  ConfigurationVersionTable,
  IdentityKeyTable,
  RunEventTable,
  RunLogChunkTable,
  RunPhaseTable,
  RunTable,
  RunTriggerFiringTable,
  RunTriggerTable,
  SiteAgentPoolTable,
} from "./runs.ts";
import type { AccessRuleTable } from "./governance.ts";
import type { ImportLinkTable } from "./imports.ts";
import type {
  AuditNotificationTable,
  AuditWebhookTable,
  NotificationTable,
  NotificationConfigurationTable,
  NotificationConfigurationMemberTable,
} from "./notices.ts";
import type { MetaTable, MigrationTable } from "./meta.ts";
import type { SsoIdentityTable, SsoProviderTable, SsoReplyTable, SsoSessionTable } from "./sso.ts";
import type { ProjectTable, TeamProjectTable } from "./projects.ts";
import type { AccessOfferTable, AccessOfferTeamTable } from "./offers.ts";
import type { JobTable, StateResourceTable, StateVersionOutputTable, StateVersionTable } from "./state.ts";
import type { VcsDeliveryTable, VcsEventTable, VcsStatusTable, VcsWebhookTable } from "./vcs.ts";
import type { VarsetProjectTable, VarsetTable, VarsetWorkspaceTable, VarTable } from "./variables.ts";
import type {
  DataRetentionPolicyTable,
  RemoteStateConsumerTable,
  ReservedTagKeyTable,
  TagBindingTable,
  TagTable,
  TeamWorkspaceTable,
  WorkspaceTable,
  WorkspaceTagTable,
} from "./workspaces.ts";

export interface Schema {
  meta: MetaTable;
  migrations: MigrationTable;
  users: UserTable;
  passwords: PasswordTable;
  identityTrusts: IdentityTrustTable;
  ssoProviders: SsoProviderTable;
  ssoIdentities: SsoIdentityTable;
  ssoSessions: SsoSessionTable;
  ssoReplies: SsoReplyTable;
  invitations: InvitationTable;
  authorizations: AuthorizationTable;
  organizations: OrganizationTable;
  /** A view. Read organizations here, so that closed ones are left out. */
  openOrganizations: OrganizationTable;
  organizationTokenTtlPolicies: OrganizationTokenTtlPolicyTable;
  moduleConsumers: ModuleConsumerTable;
  accessVersions: AccessVersionTable;
  organizationMemberships: OrganizationMembershipTable;
  teams: TeamTable;
  teamMembers: TeamMemberTable;
  tokens: TokenTable;
  projects: ProjectTable;
  teamProjects: TeamProjectTable;
  auditEvents: AuditEventTable;
  sshKeys: SshKeyTable;
  agentPools: AgentPoolTable;
  agentPoolScopes: AgentPoolScopeTable;
  agentTokens: AgentTokenTable;
  oauthClients: OauthClientTable;
  oauthClientProjects: OauthClientProjectTable;
  oauthTokens: OauthTokenTable;
  engineVersions: EngineVersionTable;
  workspaces: WorkspaceTable;
  teamWorkspaces: TeamWorkspaceTable;
  remoteStateConsumers: RemoteStateConsumerTable;
  tags: TagTable;
  workspaceTags: WorkspaceTagTable;
  tagBindings: TagBindingTable;
  reservedTagKeys: ReservedTagKeyTable;
  dataRetentionPolicies: DataRetentionPolicyTable;
  stateVersions: StateVersionTable;
  contents: ContentTable;
  contentChunks: ContentChunkTable;
  unattachedObjects: UnattachedObjectTable;
  configurationVersions: ConfigurationVersionTable;
  runs: RunTable;
  runPhases: RunPhaseTable;
  runLogChunks: RunLogChunkTable;
  runEvents: RunEventTable;
  comments: CommentTable;
  runTriggers: RunTriggerTable;
  runTriggerFirings: RunTriggerFiringTable;
  siteAgentPools: SiteAgentPoolTable;
  agents: AgentTable;
  siteOperations: SiteOperationTable;
  assessmentResults: AssessmentResultTable;
  identityKeys: IdentityKeyTable;
  stateVersionOutputs: StateVersionOutputTable;
  stateResources: StateResourceTable;
  varsets: VarsetTable;
  varsetWorkspaces: VarsetWorkspaceTable;
  varsetProjects: VarsetProjectTable;
  vars: VarTable;
  jobs: JobTable;
  importLinks: ImportLinkTable;
  accessRules: AccessRuleTable;
  vcsDeliveries: VcsDeliveryTable;
  vcsEvents: VcsEventTable;
  vcsWebhooks: VcsWebhookTable;
  vcsStatuses: VcsStatusTable;
  notificationConfigurations: NotificationConfigurationTable;
  notificationConfigurationMembers: NotificationConfigurationMemberTable;
  auditWebhooks: AuditWebhookTable;
  notices: NotificationTable;
  auditNotices: AuditNotificationTable;
  accessOffers: AccessOfferTable;
  accessOfferTeams: AccessOfferTeamTable;
  accessRequests: AccessRequestTable;
  accessRequestRequirements: AccessRequestRequirementTable;
  accessRequestParties: AccessRequestPartyTable;
  accessViolations: AccessViolationTable;
  accessViolationScans: AccessViolationScanTable;
}
