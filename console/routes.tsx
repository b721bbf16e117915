/** Every page, once: its address, the queries that start with its code, and its file, which is loaded when it is first needed. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type AnyRoute,
} from "@tanstack/react-router";
import { CodeMissing, NotFound, PageFailed } from "./pages/failed.tsx";
import { account, organization, organizations, project, team, workspaceNamed } from "./api/queries.ts";
import { projectsOf, waitingWorkspaces } from "./pages/organization/queries.ts";
import { paths } from "./paths.ts";
import { Shell, ShellFailed } from "./shell.tsx";
import { parseSearch, stringifySearch, type Search } from "./ui/address.ts";
import { prefix } from "./ui/link.tsx";
import { LoadingPage, Opening } from "./ui/states.tsx";

interface Context {
  readonly client: QueryClient;
}

const root = createRootRouteWithContext<Context>()({ notFoundComponent: NotFound });

// ---- without a session ----
const outside = createRoute({ getParentRoute: () => root, id: "outside" });
// ---- with one ----
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  errorComponent: ShellFailed,
  pendingComponent: Opening,
  loader: ({ context }) => context.client.ensureQueryData(account()),
});
const inOrganization = createRoute({
  getParentRoute: () => inside,
  path: "$organization",
  loader: ({ context: { client }, params }: any) => {
    // The pages of a project or a team show it whatever else they show.
    if (params.project) void client.prefetchQuery(project(params.project));
    if (params.team) void client.prefetchQuery(team(params.team));
    return client.ensureQueryData(organization(params.organization));
  },
});
const inWorkspace = createRoute({
  getParentRoute: () => inOrganization,
  path: "workspaces/$workspace",
  loader: ({ context, params }: any) =>
    context.client.ensureQueryData(workspaceNamed(params.organization, params.workspace)),
});

type Component = () => React.JSX.Element | null;
type Start = (client: QueryClient, params: Record<string, string>, search: Search) => void;

/** `start` sends the page's queries while its code loads; their errors are the page's, which asks for the same. */
const page = (parent: AnyRoute, path: string, load: () => Promise<{ default: Component }>, start?: Start): AnyRoute =>
  createRoute({
    getParentRoute: () => parent,
    path,
    ...(start && { loader: ({ context, params, location }: any) => start(context.client, params, location.search) }),
    component: lazyRouteComponent(() =>
      load().catch(() => {
        throw new CodeMissing();
      }),
    ),
  });

/** Inside the shell, with the way to everything else around it. */
const notFound = (parent: AnyRoute, path = "$"): AnyRoute =>
  createRoute({ getParentRoute: () => parent, path, component: NotFound });

const pages = root.addChildren([
  outside.addChildren([
    page(outside, "~/sign-in", () => import("./pages/sign-in/page.tsx")),
    // An organization may be called `invitations`; none of its places begins like a secret.
    page(outside, "invitations/cadastre-{$secret}", () => import("./pages/sign-in/invitation.tsx")),
  ]),
  inside.addChildren([
    page(
      inside,
      "/",
      () => import("./pages/organizations/page.tsx"),
      (client, _, search) => void client.prefetchQuery(organizations(search["page"])),
    ),
    page(inside, "~/authorize", () => import("./pages/sign-in/authorize.tsx")),
    page(inside, "~/new-organization", () => import("./pages/first-start/new-organization.tsx")),
    page(inside, "~/account", () => import("./pages/account/page.tsx")),
    page(inside, "~/site", () => import("./pages/site/users.tsx")),
    page(inside, "~/site/organizations", () => import("./pages/site/organizations.tsx")),
    page(inside, "~/site/agent-pools", () => import("./pages/site/agent-pools.tsx")),
    page(inside, "~/site/agent-pools/$pool", () => import("./pages/site/agent-pool.tsx")),
    page(inside, "~/site/runs", () => import("./pages/site/runs.tsx")),
    page(inside, "~/site/versions", () => import("./pages/site/versions.tsx")),
    page(inside, "~/site/sign-on", () => import("./pages/site/providers.tsx")),
    inOrganization.addChildren([
      page(
        inOrganization,
        "/",
        () => import("./pages/organization/page.tsx"),
        (client, { organization = "" }, search) => {
          void client.prefetchQuery(waitingWorkspaces(organization));
          void client.prefetchQuery(projectsOf(organization, search["page"]));
        },
      ),
      page(inOrganization, "workspaces", () => import("./pages/workspaces/page.tsx")),
      page(inOrganization, "new-workspace", () => import("./pages/first-start/new-workspace.tsx")),
      page(inOrganization, "projects", () => import("./pages/projects/page.tsx")),
      page(inOrganization, "projects/$project", () => import("./pages/projects/project.tsx")),
      page(inOrganization, "projects/$project/audit", () => import("./pages/projects/audit.tsx")),
      page(inOrganization, "projects/$project/notifications", () => import("./pages/notifications/project.tsx")),
      page(inOrganization, "projects/$project/settings", () => import("./pages/projects/settings.tsx")),
      page(inOrganization, "teams", () => import("./pages/teams/page.tsx")),
      page(inOrganization, "teams/$team", () => import("./pages/teams/members.tsx")),
      page(inOrganization, "teams/$team/tokens", () => import("./pages/teams/tokens.tsx")),
      page(inOrganization, "teams/$team/notifications", () => import("./pages/notifications/team.tsx")),
      page(inOrganization, "teams/$team/settings", () => import("./pages/teams/settings.tsx")),
      page(inOrganization, "people", () => import("./pages/people/page.tsx")),
      page(inOrganization, "people/$user", () => import("./pages/people/person.tsx")),
      page(inOrganization, "variable-sets", () => import("./pages/variable-sets/page.tsx")),
      page(inOrganization, "variable-sets/$set", () => import("./pages/variable-sets/set.tsx")),
      page(inOrganization, "ssh-keys", () => import("./pages/ssh-keys/page.tsx")),
      page(inOrganization, "agent-pools", () => import("./pages/agent-pools/page.tsx")),
      page(inOrganization, "agent-pools/$pool", () => import("./pages/agent-pools/pool.tsx")),
      page(inOrganization, "connections", () => import("./pages/connections/page.tsx")),
      page(inOrganization, "repository-events", () => import("./pages/repository/page.tsx")),
      page(inOrganization, "identity-trusts", () => import("./pages/identity-trusts/page.tsx")),
      page(inOrganization, "settings", () => import("./pages/settings/page.tsx")),
      page(inOrganization, "tokens", () => import("./pages/tokens/page.tsx")),
      page(inOrganization, "audit", () => import("./pages/audit/page.tsx")),
      page(inOrganization, "audit/webhooks", () => import("./pages/audit-webhooks/page.tsx")),
      page(inOrganization, "resources", () => import("./pages/resources/page.tsx")),
      page(inOrganization, "tags", () => import("./pages/tags/page.tsx")),
      page(inOrganization, "runs", () => import("./pages/runs/page.tsx")),
      page(inOrganization, "runs/queue", () => import("./pages/runs/queue.tsx")),
      // The CLI prints this address of a run; any workspace may be called `workspaces` or `runs`.
      createRoute({
        getParentRoute: () => inOrganization,
        path: "$workspace/runs/$run",
        loader: ({ params: { organization, workspace, run } }: any) => {
          throw redirect({ href: paths.run(organization, workspace, run), replace: true } as never);
        },
      }),
      page(inOrganization, "who-can", () => import("./pages/who-can/page.tsx")),
      page(inOrganization, "move", () => import("./pages/move/page.tsx")),
      page(inOrganization, "teams/$team/reach", () => import("./pages/reach/team.tsx")),
      page(inOrganization, "people/$user/reach", () => import("./pages/reach/person.tsx")),
      page(inOrganization, "people/$user/leaving", () => import("./pages/reach/leaving.tsx")),
      page(inOrganization, "tokens/$token", () => import("./pages/reach/token.tsx")),
      page(inOrganization, "grant", () => import("./pages/grant/page.tsx")),
      page(inOrganization, "projects/$project/access", () => import("./pages/who-can/project.tsx")),
      inWorkspace.addChildren([
        page(inWorkspace, "/", () => import("./pages/workspace/overview.tsx")),
        page(inWorkspace, "access", () => import("./pages/workspace/access.tsx")),
        page(inWorkspace, "audit", () => import("./pages/audit/workspace.tsx")),
        page(inWorkspace, "start", () => import("./pages/first-start/start.tsx")),
        page(inWorkspace, "runs", () => import("./pages/runs/workspace.tsx")),
        page(inWorkspace, "runs/$run", () => import("./pages/runs/run.tsx")),
        page(inWorkspace, "states", () => import("./pages/states/page.tsx")),
        page(inWorkspace, "states/$state", () => import("./pages/states/state.tsx")),
        page(inWorkspace, "variables", () => import("./pages/variables/page.tsx")),
        page(inWorkspace, "repository", () => import("./pages/repository/workspace.tsx")),
        page(inWorkspace, "notifications", () => import("./pages/notifications/workspace.tsx")),
        page(inWorkspace, "settings", () => import("./pages/workspace/settings.tsx")),
      ]),
      // Not under a workspace as well: it would take the address of a run of a workspace that is called `workspaces`.
      notFound(inOrganization),
    ]),
    notFound(inside, "~/$"),
    notFound(inside),
  ]),
]);

export function newRouter(client: QueryClient) {
  return createRouter({
    routeTree: pages,
    basepath: prefix,
    context: { client },
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    defaultErrorComponent: PageFailed,
    // Until then the page before stays: what comes quickly shows no other one in between.
    defaultPendingMs: 300,
    defaultPendingMinMs: 200,
    defaultPendingComponent: LoadingPage,
    defaultNotFoundComponent: NotFound,
  });
}
