/** All routes: each page's address, initial queries and lazily loaded file. */
import type { QueryClient } from "@tanstack/react-query";
import { createRouter } from "@tanstack/react-router";
import * as details from "./api/detail-queries.ts";
import * as lists from "./api/list-queries.ts";
import { account, organizations } from "./api/queries.ts";
import { organizationPages } from "./organization-routes.ts";
import { forSiteAdmin, inside, notFound, outside, page, root } from "./page-route.ts";
import { NotFound, PageFailed } from "./pages/failed.tsx";
import { parseSearch, stringifySearch } from "./paths.ts";
import { prefix } from "./ui/link.tsx";
import { LoadingPage } from "./components/states.tsx";

const pages = root.addChildren([
  outside.addChildren([
    page(
      outside,
      "~/sign-in",
      () => import("./pages/sign-in/page.tsx"),
      ({ search }) => [details.signInOptions(search["organization"])],
    ),
    // An organization may be called `invitations`; none of its addresses looks like a secret.
    page(
      outside,
      "invitations/cadastre-{$secret}",
      () => import("./pages/sign-in/invitation.tsx"),
      ({ params }) => [details.invitation(`cadastre-${params.secret}`)],
    ),
  ]),
  inside.addChildren([
    page(
      inside,
      "/",
      () => import("./pages/organizations/page.tsx"),
      ({ search }) => [organizations(search["page"])],
    ),
    page(inside, "~/authorize", () => import("./pages/sign-in/authorize.tsx")),
    page(inside, "~/new-organization", () => import("./pages/first-start/new-organization.tsx")),
    page(
      inside,
      "~/account",
      () => import("./pages/account/page.tsx"),
      async ({ client }) => [
        details.sessions(),
        details.tokensOfUser((await client.ensureQueryData(account())).data.id),
      ],
    ),
    page(inside, "~/site", () => import("./pages/site/users.tsx"), forSiteAdmin(lists.siteUsers)),
    page(
      inside,
      "~/site/organizations",
      () => import("./pages/site/organizations.tsx"),
      forSiteAdmin(lists.siteOrganizations),
    ),
    page(
      inside,
      "~/site/agent-pools",
      () => import("./pages/site/agent-pools.tsx"),
      forSiteAdmin(lists.siteAgentPools),
    ),
    page(
      inside,
      "~/site/agent-pools/$pool",
      () => import("./pages/site/agent-pool.tsx"),
      forSiteAdmin((_search, { pool }: { readonly pool: string }) => [
        details.siteAgentPool(pool),
        details.siteAgents(pool),
        details.siteAgentTokens(pool),
      ]),
    ),
    page(inside, "~/site/runs", () => import("./pages/site/runs.tsx"), forSiteAdmin(lists.siteRuns, false)),
    page(inside, "~/site/versions", () => import("./pages/site/versions.tsx"), forSiteAdmin(lists.siteVersions)),
    page(inside, "~/site/sign-on", () => import("./pages/site/providers.tsx"), forSiteAdmin(lists.siteProviders)),
    organizationPages,
    notFound(inside, "~/$"),
    notFound(inside, "$"),
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
    defaultPendingMs: 300,
    defaultPendingMinMs: 200,
    defaultPendingComponent: LoadingPage,
    defaultNotFoundComponent: NotFound,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof newRouter>;
  }
}
