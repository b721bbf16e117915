/** Queries of lists. A route starts them while the page's code loads. */
import type { SearchParameters } from "../paths.ts";
import { firstPage, apiQuery, pagedQuery, completeListQuery } from "./queries.ts";

export const at = (organization: string) => ({ organization_name: organization });
export const paged = ({ page }: SearchParameters, size = 50) => ({ "page[number]": page, "page[size]": size });
const searched = (search: SearchParameters) => ({ q: search["q"], ...paged(search) });

export const siteUsers = (search: SearchParameters) => pagedQuery("GET /admin/users", { query: searched(search) });
export const siteOrganizations = (search: SearchParameters) =>
  pagedQuery("GET /admin/organizations", { query: searched(search) });
export const siteAgentPools = (search: SearchParameters) =>
  pagedQuery("GET /admin/agent-pools", { query: searched(search) });
export const siteVersions = (search: SearchParameters) =>
  pagedQuery("GET /admin/terraform-versions", { query: { "search[version]": search["q"], ...paged(search) } });
export const siteProviders = (search: SearchParameters) =>
  pagedQuery("GET /admin/sso-providers", { query: paged(search) });
export const siteRuns = (search: SearchParameters) =>
  pagedQuery("GET /admin/runs", {
    query: {
      q: search["q"],
      "filter[status]": search["status"],
      include: "workspace,workspace.organization",
      ...paged(search, 30),
    },
  });
export const needsConfirmation = "planned,cost_estimated,policy_checked,planned_and_saved";
export const waitingWorkspaces = (organization: string) =>
  apiQuery("GET /organizations/{organization_name}/workspaces", {
    path: at(organization),
    query: {
      "filter[current-run][status]": needsConfirmation,
      include: "current_run",
      sort: "-current-run.created-at",
      "page[size]": 5,
    },
  });
export const projectSummaries = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/projects", {
    path: at(organization),
    query: { sort: "name", ...paged(search, 24) },
  });

const list = "GET /organizations/{organization_name}/workspaces";
type Filters = Readonly<Record<string, string | undefined>>;

export function workspaceFilters(search: SearchParameters): Filters {
  const all = {
    "search[name]": search["q"],
    "search[tags]": search["tags"],
    "filter[project][id]": search["project"],
    "filter[current-run][status]": search["run"],
    "filter[locked-longer-than]": search["locked"],
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}
export const workspaceOrder = (search: SearchParameters) => search["sort"] ?? "name";
export const workspaceRows = (organization: string, search: SearchParameters) =>
  [
    list,
    {
      path: at(organization),
      query: {
        ...workspaceFilters(search),
        sort: workspaceOrder(search),
        include: "project,current_run,locked_by",
      },
    },
  ] as const;
export const workspaces = (organization: string, search: SearchParameters) =>
  firstPage(...workspaceRows(organization, search));

export const movableFilters = (search: SearchParameters): Filters => ({
  "search[name]": search["q"],
  "filter[project][id]": search["from"],
});
export const movableRows = (organization: string, search: SearchParameters) =>
  [list, { path: at(organization), query: { ...movableFilters(search), sort: "name", include: "project" } }] as const;
export const movableWorkspaces = (organization: string, search: SearchParameters) =>
  firstPage(...movableRows(organization, search));

export const projectsForWorkspaces = (organization: string, { q = "" }: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/projects", {
    path: at(organization),
    query: { "filter[permissions][create-workspace]": "true", sort: "name", q, "page[size]": 30 },
  });
export const projects = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/projects", {
    path: at(organization),
    query: { ...searched(search), sort: workspaceOrder(search) },
  });
export const workspacesOfProject = (organization: string, project: string, search: SearchParameters) =>
  pagedQuery(list, {
    path: at(organization),
    query: {
      "filter[project][id]": project,
      "search[name]": search["q"],
      include: "current_run",
      sort: workspaceOrder(search),
      ...paged(search),
    },
  });
export const accessOffers = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/access-offers", { path: at(organization), query: paged(search) });
export const accessRules = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/access-rules", { path: at(organization), query: paged(search) });
export const accessViolations = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/access-violations", {
    path: at(organization),
    query: { "filter[rule]": search["rule"], include: "rule,team,user,project,workspace", ...paged(search) },
  });
export const teams = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/teams", { path: at(organization), query: searched(search) });
export const allTeams = (organization: string) =>
  completeListQuery("GET /organizations/{organization_name}/teams", { path: at(organization) });
export const people = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/organization-memberships", {
    path: at(organization),
    query: { "filter[status]": search["status"], include: "user,teams", ...searched(search) },
  });
export const variableSets = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/varsets", { path: at(organization), query: searched(search) });
export const sshKeys = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/ssh-keys", { path: at(organization), query: paged(search) });
export const agentPools = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/agent-pools", { path: at(organization), query: searched(search) });
export const connections = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/oauth-clients", { path: at(organization), query: paged(search) });
export const identityTrusts = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/identity-trusts", {
    path: at(organization),
    query: paged(search),
  });
export const auditWebhooks = (organization: string) =>
  completeListQuery("GET /organizations/{organization_name}/audit-webhooks", { path: at(organization) });
export const reservedKeys = (organization: string) =>
  completeListQuery("GET /organizations/{organization_name}/reserved-tag-keys", { path: at(organization) });

export const resourceOrder = (search: SearchParameters) => (search["sort"] === "-address" ? "-address" : "address");
export const resources = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/resources", {
    path: at(organization),
    query: {
      sort: resourceOrder(search),
      include: "workspace",
      "filter[type]": search["type"],
      "filter[provider]": search["provider"],
      "filter[module]": search["module"],
      ...paged(search),
    },
  });

const tagOrders = ["name", "-name", "created-at", "-created-at"] as const;
export const tagOrder = (search: SearchParameters) => tagOrders.find((order) => order === search["sort"]) ?? "name";
export const tags = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/tags", {
    path: at(organization),
    query: { sort: tagOrder(search), ...searched(search) },
  });

export const holdersPermission = (search: SearchParameters) => search["permission"] ?? "can-queue-apply";
export const accessHolders = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/access-holders", {
    path: at(organization),
    query: { "filter[permission]": holdersPermission(search), "filter[kind]": search["kind"], ...paged(search) },
  });

export const outcomes = (search: SearchParameters) => ({ "filter[outcome]": search["outcome"], ...paged(search, 30) });
export const repositoryEvents = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/vcs-events", {
    path: at(organization),
    query: { ...outcomes(search), include: "workspace" },
  });

export const runIncludes = "created_by,plan";
export const runOperations = [
  "plan_and_apply",
  "plan_only",
  "save_plan",
  "refresh_only",
  "destroy",
  "empty_apply",
] as const;

export const runFilters = (search: SearchParameters) => ({
  "search[basic]": search["q"],
  "filter[status]": search["status"],
  "filter[operation]": search["does"] ?? runOperations.join(","),
  ...paged(search, 30),
});
export const runs = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/runs", {
    path: at(organization),
    query: { ...runFilters(search), include: `${runIncludes},workspace` },
  });
export const runQueue = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/runs/queue", {
    path: at(organization),
    query: { include: `${runIncludes},workspace`, ...paged(search, 30) },
  });
export const capacity = (organization: string) =>
  pagedQuery("GET /organizations/{organization_name}/capacity", { path: at(organization) });

export const requestsShown = (search: SearchParameters) =>
  ["mine", "all"].find((shown) => shown === search["show"]) ?? "to-decide";
const requestsMine: Readonly<Record<string, string | undefined>> = { "to-decide": "to-decide", mine: "requested" };
export const accessRequests = (organization: string, search: SearchParameters) =>
  pagedQuery("GET /organizations/{organization_name}/access-requests", {
    path: at(organization),
    query: {
      "filter[mine]": requestsMine[requestsShown(search)],
      "filter[status]": search["status"],
      include: "requester",
      ...paged(search, 30),
    },
  });
