/** Every page of an organization: its address, initial queries and file. */
import { createRoute, redirect } from "@tanstack/react-router";
import * as details from "./api/detail-queries.ts";
import * as lists from "./api/list-queries.ts";
import { project, team, workspaceNamed } from "./api/queries.ts";
import { accessPages } from "./access-routes.ts";
import {
  inOrganization,
  notFound,
  byParameter,
  organizationQueries as here,
  workspaceQueries,
  page,
  start,
} from "./page-route.ts";
import { paths } from "./paths.ts";

const inWorkspace = createRoute({
  getParentRoute: () => inOrganization,
  path: "workspaces/$workspace",
  loader: ({ context, params }) =>
    context.client.ensureQueryData(workspaceNamed(params.organization, params.workspace)),
});

const inProject = createRoute({
  getParentRoute: () => inOrganization,
  path: "projects/$project",
  loader: ({ context, params }) => start(context.client, [project(params.project)]),
});
const inTeam = createRoute({
  getParentRoute: () => inOrganization,
  path: "teams/$team",
  loader: ({ context, params }) => start(context.client, [team(params.team)]),
});
const inPerson = createRoute({
  getParentRoute: () => inOrganization,
  path: "people/$user",
  loader: ({ context, params }) => start(context.client, [details.user(params.user)]),
});

/** The CLI prints this address; a workspace may itself be called `workspaces` or `runs`. */
const runOfCli = createRoute({
  getParentRoute: () => inOrganization,
  path: "$workspace/runs/$run",
  loader: ({ params: { organization, workspace, run } }): never => {
    throw redirect({ href: paths.run(organization, workspace, run), replace: true });
  },
});

export const organizationPages = inOrganization.addChildren([
  ...accessPages,
  page(
    inOrganization,
    "/",
    () => import("./pages/organization/page.tsx"),
    here(lists.waitingWorkspaces, lists.projectSummaries),
  ),
  page(inOrganization, "workspaces", () => import("./pages/workspaces/page.tsx"), here(lists.workspaces)),
  page(
    inOrganization,
    "new-workspace",
    () => import("./pages/first-start/new-workspace.tsx"),
    here(lists.projectsForWorkspaces),
  ),
  page(inOrganization, "projects", () => import("./pages/projects/page.tsx"), here(lists.projects)),
  page(inOrganization, "teams", () => import("./pages/teams/page.tsx"), here(lists.teams)),
  page(inOrganization, "people", () => import("./pages/people/page.tsx"), here(lists.people)),
  page(inOrganization, "variable-sets", () => import("./pages/variable-sets/page.tsx"), here(lists.variableSets)),
  page(
    inOrganization,
    "variable-sets/$set",
    () => import("./pages/variable-sets/set.tsx"),
    byParameter("set", details.variableSet, details.variablesOfSet),
  ),
  page(inOrganization, "ssh-keys", () => import("./pages/ssh-keys/page.tsx"), here(lists.sshKeys)),
  page(inOrganization, "agent-pools", () => import("./pages/agent-pools/page.tsx"), here(lists.agentPools)),
  page(
    inOrganization,
    "agent-pools/$pool",
    () => import("./pages/agent-pools/pool.tsx"),
    byParameter("pool", details.agentPool, details.agents),
  ),
  page(inOrganization, "connections", () => import("./pages/connections/page.tsx"), here(lists.connections)),
  page(inOrganization, "repository-events", () => import("./pages/repository/page.tsx"), here(lists.repositoryEvents)),
  page(inOrganization, "identity-trusts", () => import("./pages/identity-trusts/page.tsx"), here(lists.identityTrusts)),
  page(inOrganization, "settings", () => import("./pages/settings/page.tsx"), here(lists.reservedKeys)),
  page(inOrganization, "tokens", () => import("./pages/tokens/page.tsx"), here(lists.allTeams)),
  page(inOrganization, "audit", () =>
    import("./pages/audit/audit-log.tsx").then((pages) => ({ default: pages.OrganizationAudit })),
  ),
  page(inOrganization, "audit/webhooks", () => import("./pages/audit-webhooks/page.tsx"), here(lists.auditWebhooks)),
  page(inOrganization, "resources", () => import("./pages/resources/page.tsx"), here(lists.resources)),
  page(inOrganization, "tags", () => import("./pages/tags/page.tsx"), here(lists.tags)),
  page(
    inOrganization,
    "runs",
    () => import("./pages/runs/organization.tsx").then((pages) => ({ default: pages.OrganizationRuns })),
    here(lists.capacity, lists.runs),
  ),
  page(
    inOrganization,
    "runs/queue",
    () => import("./pages/runs/organization.tsx").then((pages) => ({ default: pages.RunQueue })),
    here(lists.capacity, lists.runQueue),
  ),
  runOfCli,
  page(inOrganization, "move", () => import("./pages/move/page.tsx"), here(lists.movableWorkspaces)),
  page(
    inOrganization,
    "tokens/$token",
    () => import("./pages/reach/pages.tsx").then((pages) => ({ default: pages.TokenReach })),
    ({ params, search }) => [
      details.token(params.token),
      details.reachOf(params.organization, { token: params.token }, search).query,
    ],
  ),
  inProject.addChildren([
    page(
      inProject,
      "/",
      () => import("./pages/projects/project.tsx"),
      ({ params, search }) => [lists.workspacesOfProject(params.organization, params.project, search)],
    ),
    page(inProject, "audit", () =>
      import("./pages/audit/audit-log.tsx").then((pages) => ({ default: pages.ProjectAudit })),
    ),
    page(
      inProject,
      "notifications",
      () => import("./pages/notifications/list.tsx").then((pages) => ({ default: pages.ProjectNotifications })),
      byParameter("project", details.notificationsOfProject),
    ),
    page(
      inProject,
      "settings",
      () => import("./pages/projects/settings.tsx"),
      byParameter("project", details.projectTags),
    ),
    page(
      inProject,
      "access",
      () => import("./pages/who-can/resource-access.tsx").then((pages) => ({ default: pages.ProjectAccess })),
      byParameter("project", details.accessToProject),
    ),
  ]),
  inTeam.addChildren([
    page(inTeam, "/", () => import("./pages/teams/members.tsx")),
    page(inTeam, "tokens", () => import("./pages/teams/tokens.tsx"), byParameter("team", details.tokensOfTeam)),
    page(
      inTeam,
      "notifications",
      () => import("./pages/notifications/list.tsx").then((pages) => ({ default: pages.TeamNotifications })),
      byParameter("team", details.notificationsOfTeam),
    ),
    page(inTeam, "settings", () => import("./pages/teams/settings.tsx")),
    page(
      inTeam,
      "reach",
      () => import("./pages/reach/pages.tsx").then((pages) => ({ default: pages.TeamReach })),
      ({ params, search }) => [details.reachOf(params.organization, { team: params.team }, search).query],
    ),
  ]),
  inPerson.addChildren([
    page(inPerson, "/", () => import("./pages/people/person.tsx")),
    page(
      inPerson,
      "reach",
      () => import("./pages/reach/pages.tsx").then((pages) => ({ default: pages.PersonReach })),
      ({ params, search }) => [details.reachOf(params.organization, { user: params.user }, search).query],
    ),
    page(
      inPerson,
      "leaving",
      () => import("./pages/reach/pages.tsx").then((pages) => ({ default: pages.PersonOffboarding })),
      here(details.lockedWorkspaces),
    ),
  ]),
  inWorkspace.addChildren([
    page(inWorkspace, "/", () => import("./pages/workspace/overview.tsx"), workspaceQueries(details.lastRuns)),
    page(
      inWorkspace,
      "access",
      () => import("./pages/who-can/resource-access.tsx").then((pages) => ({ default: pages.WorkspaceAccess })),
      workspaceQueries(details.accessToWorkspace),
    ),
    page(inWorkspace, "audit", () =>
      import("./pages/audit/audit-log.tsx").then((pages) => ({ default: pages.WorkspaceAudit })),
    ),
    page(inWorkspace, "start", () => import("./pages/first-start/start.tsx")),
    page(inWorkspace, "runs", () => import("./pages/runs/workspace.tsx"), workspaceQueries(details.runsOfWorkspace)),
    page(
      inWorkspace,
      "runs/$run",
      () => import("./pages/runs/run.tsx"),
      byParameter("run", details.run, details.runEvents),
    ),
    page(inWorkspace, "states", () => import("./pages/states/page.tsx"), workspaceQueries(details.stateVersions)),
    page(
      inWorkspace,
      "states/$state",
      () => import("./pages/states/state.tsx"),
      byParameter("state", details.stateVersion, details.outputsOfState),
    ),
    page(
      inWorkspace,
      "variables",
      () => import("./pages/variables/page.tsx"),
      workspaceQueries(details.effectiveVariables, details.ownVariables, details.appliedVariableSets),
    ),
    page(
      inWorkspace,
      "repository",
      () => import("./pages/repository/workspace.tsx"),
      workspaceQueries((id, search, may) => (may["can-read-run"] ? details.repositoryEventsOf(id, search) : [])),
    ),
    page(
      inWorkspace,
      "notifications",
      () => import("./pages/notifications/list.tsx").then((pages) => ({ default: pages.WorkspaceNotifications })),
      workspaceQueries(details.notificationsOfWorkspace),
    ),
    page(inWorkspace, "settings", () => import("./pages/workspace/settings.tsx")),
  ]),
  // Not below a workspace: it would match the run addresses of a workspace called `workspaces`.
  notFound(inOrganization, "$"),
]);
