/** Queries of single resources. A route starts them while the page's code loads. */
import type { SearchParameters } from "../paths.ts";
import { addressOf, type OperationInput } from "./client.ts";
import { at, outcomes, paged, runFilters, runIncludes } from "./list-queries.ts";
import { apiQuery, pagedQuery, completeListQuery, type ListOperation } from "./queries.ts";

export const signInOptions = (organization: string | undefined) =>
  apiQuery("GET /sign-in-options", { query: { "filter[organization]": organization } });
export const invitation = (secret: string) =>
  apiQuery("GET /invitations/{invitation_secret}", { path: { invitation_secret: secret } });
export const sessions = () => completeListQuery("GET /sessions", {});
export const tokensOfUser = (user: string) =>
  completeListQuery("GET /users/{user_id}/authentication-tokens", { path: { user_id: user } });
const sitePool = (id: string) => ({ path: { site_agent_pool_id: id } });
export const siteAgentPool = (id: string) => apiQuery("GET /admin/agent-pools/{site_agent_pool_id}", sitePool(id));
export const siteAgents = (id: string) =>
  pagedQuery("GET /admin/agent-pools/{site_agent_pool_id}/agents", { ...sitePool(id), query: { "page[size]": 100 } });
export const siteAgentTokens = (id: string) =>
  completeListQuery("GET /admin/agent-pools/{site_agent_pool_id}/authentication-tokens", sitePool(id));

export const run = (id: string) =>
  pagedQuery("GET /runs/{run_id}", {
    path: { run_id: id },
    query: {
      include: "plan,apply,created_by,confirmed_by,configuration_version.ingress_attributes,configuration_version",
    },
  });
export const runEvents = (id: string) =>
  pagedQuery("GET /runs/{run_id}/run-events", { path: { run_id: id }, query: { include: "actor,comment" } });

export const projectTags = (id: string) =>
  apiQuery("GET /projects/{project_id}/tag-bindings", { path: { project_id: id } });
export const tokensOfTeam = (id: string) =>
  completeListQuery("GET /teams/{team_id}/authentication-tokens", { path: { team_id: id } });
export const user = (id: string) => apiQuery("GET /users/{user_id}", { path: { user_id: id } });
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly email?: string | null;
}

/** The search also returns people who match only a part. */
export const membershipsLike = (organization: string, { email, name }: Pick<Person, "email" | "name">) =>
  apiQuery("GET /organizations/{organization_name}/organization-memberships", {
    path: at(organization),
    query: { ...(email ? { "filter[email]": email } : { q: name }), include: "teams", "page[size]": 100 },
  });
export const accessOffer = (id: string) =>
  apiQuery("GET /access-offers/{access_offer_id}", { path: { access_offer_id: id } });
export const accessRule = (id: string) =>
  apiQuery("GET /access-rules/{access_rule_id}", { path: { access_rule_id: id } });
export const token = (id: string) => apiQuery("GET /authentication-tokens/{token_id}", { path: { token_id: id } });
export const variableSet = (id: string) =>
  apiQuery("GET /varsets/{varset_id}", { path: { varset_id: id }, query: { include: "projects,workspaces" } });
export const variablesOfSet = (id: string) =>
  completeListQuery("GET /varsets/{varset_id}/relationships/vars", { path: { varset_id: id } });
export const agentPool = (id: string) =>
  apiQuery("GET /agent-pools/{agent_pool_id}", {
    path: { agent_pool_id: id },
    query: { include: "allowed_workspaces,allowed_projects,excluded_workspaces" },
  });
export const agents = (id: string) =>
  pagedQuery("GET /agent-pools/{agent_pool_id}/agents", { path: { agent_pool_id: id }, query: { "page[size]": 100 } });
export const lockedWorkspaces = (organization: string) =>
  completeListQuery("GET /organizations/{organization_name}/workspaces", {
    path: at(organization),
    query: { "filter[locked-longer-than]": "0m" },
  });

const inWorkspace = (id: string) => ({ path: { workspace_id: id } });
export const runsOfWorkspace = (id: string, search: SearchParameters) =>
  pagedQuery("GET /workspaces/{workspace_id}/runs", {
    ...inWorkspace(id),
    query: { ...runFilters(search), include: runIncludes },
  });
export const lastRuns = (id: string) =>
  apiQuery("GET /workspaces/{workspace_id}/runs", {
    ...inWorkspace(id),
    query: { include: runIncludes, "page[size]": 5 },
  });
export const stateVersions = (id: string, search: SearchParameters) =>
  pagedQuery("GET /workspaces/{workspace_id}/state-versions", { ...inWorkspace(id), query: paged(search, 30) });
export const finalizedStateVersions = (id: string) =>
  apiQuery("GET /workspaces/{workspace_id}/state-versions", {
    ...inWorkspace(id),
    query: { "page[size]": 100, "filter[status]": "finalized" },
  });
export const stateVersion = (id: string) =>
  apiQuery("GET /state-versions/{state_version_id}", { path: { state_version_id: id } });
export const outputsOfState = (id: string) =>
  apiQuery("GET /state-versions/{state_version_id}/outputs", {
    path: { state_version_id: id },
    query: { "page[size]": 100 },
  });
export const effectiveVariables = (id: string) =>
  completeListQuery("GET /workspaces/{workspace_id}/all-vars", inWorkspace(id));
export const ownVariables = (id: string) => apiQuery("GET /workspaces/{workspace_id}/vars", inWorkspace(id));
export const appliedVariableSets = (id: string) =>
  completeListQuery("GET /workspaces/{workspace_id}/varsets", { ...inWorkspace(id), query: { include: "vars" } });
export const repositoryEventsOf = (id: string, search: SearchParameters) =>
  pagedQuery("GET /workspaces/{workspace_id}/vcs-events", { ...inWorkspace(id), query: outcomes(search) });

export const notificationsOfWorkspace = (id: string) =>
  completeListQuery("GET /workspaces/{workspace_id}/notification-configurations", inWorkspace(id));
export const notificationsOfProject = (id: string) =>
  completeListQuery("GET /projects/{project_id}/notification-configurations", { path: { project_id: id } });
export const notificationsOfTeam = (id: string) =>
  completeListQuery("GET /teams/{team_id}/notification-configurations", { path: { team_id: id } });

interface AccessTargetId {
  readonly kind: "workspace" | "project";
  readonly id: string;
}

type OwnAccess = ReturnType<typeof apiQuery<"GET /projects/{project_id}/access">>;
export const ownAccess = (
  { kind, id }: AccessTargetId,
  query: OperationInput<"GET /projects/{project_id}/access">["query"] = {},
): OwnAccess =>
  kind === "workspace"
    ? apiQuery("GET /workspaces/{workspace_id}/access", { ...inWorkspace(id), query })
    : apiQuery("GET /projects/{project_id}/access", { path: { project_id: id }, query });

type TeamAccess = ReturnType<typeof pagedQuery<"GET /projects/{project_id}/team-access">>;
export function teamAccess({ kind, id }: AccessTargetId, page: number): TeamAccess {
  const query = { "page[size]": 100, "page[number]": page };
  return kind === "workspace"
    ? pagedQuery("GET /workspaces/{workspace_id}/team-access", { ...inWorkspace(id), query })
    : pagedQuery("GET /projects/{project_id}/team-access", { path: { project_id: id }, query });
}

/** The list of people is not among them: it depends on what the caller can see. */
const accessTo = (target: AccessTargetId, search: SearchParameters) =>
  search["who"] === "people"
    ? [ownAccess(target)]
    : [ownAccess(target), teamAccess(target, Number(search["page"] ?? 1))];
export const accessToWorkspace = (id: string, search: SearchParameters) => accessTo({ kind: "workspace", id }, search);
export const accessToProject = (id: string, search: SearchParameters) => accessTo({ kind: "project", id }, search);

export type ReachQuerySubject =
  | { readonly team: string; readonly user?: undefined; readonly token?: undefined }
  | { readonly user: string; readonly team?: undefined; readonly token?: undefined }
  | { readonly token: string; readonly team?: undefined; readonly user?: undefined };

const reachPagesMax = 20;
const reach = <O extends ListOperation>(operation: O, input: OperationInput<O>) => ({
  query: completeListQuery(operation, input, reachPagesMax),
  address: addressOf(operation, input),
});

type Reach = ReturnType<typeof reach<"GET /teams/{team_id}/reach">>;
export function reachOf(organization: string, of: ReachQuerySubject, search: SearchParameters): Reach {
  const query = { "filter[permission]": search["permission"] };
  const inOrganization = { ...query, "filter[organization][name]": organization };
  if (of.team !== undefined) return reach("GET /teams/{team_id}/reach", { path: { team_id: of.team }, query });
  if (of.user !== undefined)
    return reach("GET /users/{user_id}/reach", { path: { user_id: of.user }, query: inOrganization });
  return reach("GET /authentication-tokens/{token_id}/reach", { path: { token_id: of.token }, query: inOrganization });
}

export const accessRequest = (id: string) =>
  apiQuery("GET /access-requests/{access_request_id}", {
    path: { access_request_id: id },
    query: { include: "requester,decided_by" },
  });
