/** Builds the console's addresses, without the prefix `/app`. Those outside organizations start with `~`, which is no valid name. */
const part = encodeURIComponent;

export type SearchParameters = Readonly<Record<string, string | undefined>>;

export const parseSearch = (text: string): SearchParameters => Object.fromEntries(new URLSearchParams(text));
export function stringifySearch(search: SearchParameters): string {
  const text = new URLSearchParams(
    Object.entries(search).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]])),
  ).toString();
  return text === "" ? "" : `?${text}`;
}
const withSearch = (path: string, search: SearchParameters) => `${path}${stringifySearch(search)}`;

const inOrganization = (organization: string) => `/${part(organization)}`;
const workspace = (organization: string, name: string) => `${inOrganization(organization)}/workspaces/${part(name)}`;
const project = (organization: string, id: string) => `${inOrganization(organization)}/projects/${part(id)}`;
const team = (organization: string, id: string) => `${inOrganization(organization)}/teams/${part(id)}`;
const person = (organization: string, id: string) => `${inOrganization(organization)}/people/${part(id)}`;

export const paths = {
  opening: (path: string, dialog: string) => withSearch(path, { open: dialog }),

  home: () => "/",
  /** `ended`: the session has expired. */
  signIn: (to?: string, ended?: "yes") => withSearch("/~/sign-in", { return: to, ended }),
  /** The server redirects `terraform login` to this address. */
  authorize: () => "/~/authorize",
  invitation: (secret: string) => `/invitations/${part(secret)}`,
  newOrganization: () => "/~/new-organization",
  account: () => "/~/account",
  site: () => "/~/site",
  siteOrganizations: () => "/~/site/organizations",
  siteAgentPools: () => "/~/site/agent-pools",
  siteAgentPool: (id: string) => `/~/site/agent-pools/${part(id)}`,
  siteRuns: () => "/~/site/runs",
  siteVersions: () => "/~/site/versions",
  siteProviders: () => "/~/site/sign-on",

  organization: inOrganization,
  workspaces: (organization: string, search: Record<string, string | undefined> = {}) =>
    withSearch(`${inOrganization(organization)}/workspaces`, search),
  newWorkspace: (organization: string, project?: string, first?: string) =>
    withSearch(`${inOrganization(organization)}/new-workspace`, { project, first }),

  workspace,
  workspaceStart: (organization: string, name: string, first?: string) =>
    withSearch(`${workspace(organization, name)}/start`, { first }),
  workspaceRuns: (organization: string, name: string) => `${workspace(organization, name)}/runs`,
  run: (organization: string, name: string, run: string, search: { show?: string; line?: string } = {}) =>
    withSearch(`${workspace(organization, name)}/runs/${part(run)}`, search),
  workspaceStates: (organization: string, name: string) => `${workspace(organization, name)}/states`,
  state: (organization: string, name: string, state: string, search: { since?: string } = {}) =>
    withSearch(`${workspace(organization, name)}/states/${part(state)}`, search),
  workspaceVariables: (organization: string, name: string) => `${workspace(organization, name)}/variables`,
  workspaceAccess: (organization: string, name: string) => `${workspace(organization, name)}/access`,
  workspaceAudit: (organization: string, name: string) => `${workspace(organization, name)}/audit`,
  workspaceNotifications: (organization: string, name: string) => `${workspace(organization, name)}/notifications`,
  workspaceRepository: (organization: string, name: string) => `${workspace(organization, name)}/repository`,
  workspaceSettings: (organization: string, name: string, part?: string) =>
    withSearch(`${workspace(organization, name)}/settings`, { part }),

  projects: (organization: string) => `${inOrganization(organization)}/projects`,
  project,
  projectAccess: (organization: string, id: string) => `${project(organization, id)}/access`,
  projectAudit: (organization: string, id: string) => `${project(organization, id)}/audit`,
  projectNotifications: (organization: string, id: string) => `${project(organization, id)}/notifications`,
  projectSettings: (organization: string, id: string) => `${project(organization, id)}/settings`,

  grant: (organization: string, search: { team?: string; project?: string; workspace?: string } = {}) =>
    withSearch(`${inOrganization(organization)}/grant`, search),
  accessRequests: (organization: string, search: { show?: string; status?: string } = {}) =>
    withSearch(`${inOrganization(organization)}/access-requests`, search),
  accessRequest: (organization: string, id: string) => `${inOrganization(organization)}/access-requests/${part(id)}`,
  requestAccess: (
    organization: string,
    search: { for?: "team"; team?: string; project?: string; workspace?: string; level?: string } = {},
  ) => withSearch(`${inOrganization(organization)}/access-requests/new`, search),
  move: (
    organization: string,
    search: { workspaces?: string; q?: string | undefined; from?: string | undefined } = {},
  ) => withSearch(`${inOrganization(organization)}/move`, search),

  resources: (organization: string) => `${inOrganization(organization)}/resources`,
  tags: (organization: string) => `${inOrganization(organization)}/tags`,
  runs: (organization: string) => `${inOrganization(organization)}/runs`,
  runQueue: (organization: string) => `${inOrganization(organization)}/runs/queue`,
  teams: (organization: string) => `${inOrganization(organization)}/teams`,
  team,
  teamReach: (organization: string, id: string) => `${team(organization, id)}/reach`,
  teamTokens: (organization: string, id: string) => `${team(organization, id)}/tokens`,
  teamNotifications: (organization: string, id: string) => `${team(organization, id)}/notifications`,
  teamSettings: (organization: string, id: string) => `${team(organization, id)}/settings`,
  people: (organization: string) => `${inOrganization(organization)}/people`,
  person,
  personReach: (organization: string, id: string) => `${person(organization, id)}/reach`,
  personLeaving: (organization: string, id: string) => `${person(organization, id)}/leaving`,
  holders: (organization: string, permission?: string) =>
    withSearch(`${inOrganization(organization)}/who-can`, { permission }),
  accessOffers: (organization: string, take?: string) => withSearch(`${inOrganization(organization)}/offers`, { take }),
  newAccessOffer: (organization: string) => `${inOrganization(organization)}/offers/new`,
  accessOffer: (organization: string, id: string) => `${inOrganization(organization)}/offers/${part(id)}`,
  accessRules: (organization: string) => `${inOrganization(organization)}/rules`,
  newAccessRule: (organization: string) => `${inOrganization(organization)}/rules/new`,
  accessViolations: (organization: string, rule?: string) =>
    withSearch(`${inOrganization(organization)}/rules/violations`, { rule }),
  accessRule: (organization: string, id: string) => `${inOrganization(organization)}/rules/${part(id)}`,
  tokens: (organization: string) => `${inOrganization(organization)}/tokens`,
  tokenReach: (organization: string, id: string) => `${inOrganization(organization)}/tokens/${part(id)}`,
  audit: (organization: string) => `${inOrganization(organization)}/audit`,
  auditWebhooks: (organization: string) => `${inOrganization(organization)}/audit/webhooks`,
  variableSets: (organization: string) => `${inOrganization(organization)}/variable-sets`,
  variableSet: (organization: string, id: string) => `${inOrganization(organization)}/variable-sets/${part(id)}`,
  sshKeys: (organization: string) => `${inOrganization(organization)}/ssh-keys`,
  agentPools: (organization: string) => `${inOrganization(organization)}/agent-pools`,
  agentPool: (organization: string, id: string) => `${inOrganization(organization)}/agent-pools/${part(id)}`,
  connections: (organization: string) => `${inOrganization(organization)}/connections`,
  repositoryEvents: (organization: string) => `${inOrganization(organization)}/repository-events`,
  identityTrusts: (organization: string) => `${inOrganization(organization)}/identity-trusts`,
  organizationSettings: (organization: string) => `${inOrganization(organization)}/settings`,
} as const;
