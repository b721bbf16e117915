/** Turns a page into a route: its code and its initial queries load in parallel. */
import type { EnsureQueryDataOptions, QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  type AnyRoute,
  type ResolveAllParamsFromParent,
  type ResolveParams,
  type Route,
  type RouteComponent,
} from "@tanstack/react-router";
import type { Attributes } from "./api/client.ts";
import { account, organization, workspaceNamed } from "./api/queries.ts";
import { CodeMissing, NotFound } from "./pages/failed.tsx";
import type { SearchParameters } from "./paths.ts";
import { Shell, ShellFailed } from "./shell.tsx";
import { ConsoleLoading } from "./components/states.tsx";

interface LoaderContext {
  readonly client: QueryClient;
}

export const root = createRootRouteWithContext<LoaderContext>()({ notFoundComponent: NotFound });

export const outside = createRoute({ getParentRoute: () => root, id: "outside" });
export const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  errorComponent: ShellFailed,
  pendingComponent: ConsoleLoading,
  loader: ({ context }) => context.client.ensureQueryData(account()),
});
export const inOrganization = createRoute({
  getParentRoute: () => inside,
  path: "$organization",
  loader: ({ context, params }) => context.client.ensureQueryData(organization(params.organization)),
});
type AnyQuery = EnsureQueryDataOptions<any, any, any, any>;
type ParamsOf<Parent extends AnyRoute, Path extends string> = ResolveAllParamsFromParent<Parent, ResolveParams<Path>>;

interface Visit<Params> {
  readonly client: QueryClient;
  readonly params: Params;
  readonly search: SearchParameters;
}

type Queries<Params> = (visit: Visit<Params>) => readonly AnyQuery[] | Promise<readonly AnyQuery[]>;
type PageQuery = (id: string, search: SearchParameters) => AnyQuery | readonly AnyQuery[];
type QueryOfWorkspace = (
  ...input: [...Parameters<PageQuery>, may: Attributes<"workspaces">["permissions"]]
) => ReturnType<PageQuery>;

interface LoaderInput<Params> {
  readonly context: LoaderContext;
  readonly cause: "preload" | "enter" | "stay";
  readonly params: Params;
  readonly deps: SearchParameters;
}

export function start(client: QueryClient, queries: readonly AnyQuery[]): void {
  for (const query of queries) client.ensureQueryData(query).catch(() => undefined);
}

export const page = <Parent extends AnyRoute, const Path extends string>(
  parent: Parent,
  path: Path,
  component: () => Promise<{ default: RouteComponent }>,
  queries: Queries<ParamsOf<Parent, Path>> = () => [],
): Route<unknown, Parent, Path> =>
  createRoute({
    getParentRoute: () => parent,
    path,
    component: lazyRouteComponent(() =>
      component().catch(() => {
        throw new CodeMissing();
      }),
    ),
    // Not part of the route's type: loaders are the same for all pages.
    ...({
      loaderDeps: ({ search }: { search: SearchParameters }) => search,
      loader: ({ context, cause, params, deps: search }: LoaderInput<ParamsOf<Parent, Path>>) => {
        // Only code: a whole list is up to 20 requests.
        if (cause === "preload") return;
        const { client } = context;
        Promise.resolve(queries({ client, params, search })).then(
          (all) => start(client, all),
          () => undefined,
        );
      },
    } as object),
  });

export const notFound = <Parent extends AnyRoute, const Path extends string>(
  parent: Parent,
  path: Path,
): Route<unknown, Parent, Path> => createRoute({ getParentRoute: () => parent, path, component: NotFound });

export const byParameter =
  <const Name extends string>(name: Name, ...queries: readonly PageQuery[]): Queries<Readonly<Record<Name, string>>> =>
  ({ params, search }) =>
    queries.flatMap((query) => query(params[name], search));

export const organizationQueries = (...queries: readonly PageQuery[]) => byParameter("organization", ...queries);

export const workspaceQueries =
  (...queries: readonly QueryOfWorkspace[]): Queries<{ readonly organization: string; readonly workspace: string }> =>
  async ({ client, params, search }) => {
    const { data } = await client.ensureQueryData(workspaceNamed(params.organization, params.workspace));
    return queries.flatMap((query) => query(data.id, search, data.attributes.permissions));
  };

/** Other users' requests would be refused. */
export const forSiteAdmin =
  <Params>(
    query: (search: SearchParameters, params: Params) => AnyQuery | readonly AnyQuery[],
    isHostedToo = true,
  ): Queries<Params> =>
  async ({ client, params, search }) => {
    const { data, isHosted } = await client.ensureQueryData(account());
    return data.attributes["is-site-admin"] && (isHostedToo || !isHosted) ? [query(search, params)].flat() : [];
  };
