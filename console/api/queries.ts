/** The queries of pages. The key of a query is its operation with its parameters, so that "Show as API" can show the request. */
import {
  useQuery,
  queryOptions,
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
} from "@tanstack/react-query";
import { call, type Answer, type Input, type Operation } from "./client.ts";
import { heard, isNoAnswer } from "./connection.ts";
import { ApiError, SessionEnded } from "./errors.ts";
import type { Pagination } from "./schema.gen.ts";

export type Reading = Extract<Operation, `GET ${string}`>;

export function asking<O extends Reading>(operation: O, input: Input<O>) {
  return queryOptions<Answer<O>, ApiError>({
    queryKey: [operation, input],
    queryFn: ({ signal }) => call(operation, input, signal),
  });
}

/** The same, showing the previous page until the new one is there: for lists with search, order and pages. */
export const askingOn = <O extends Reading>(operation: O, input: Input<O>) => ({
  ...asking(operation, input),
  placeholderData: keepPreviousData,
});

const wholePageSize = 100;

export type Listing = { readonly [O in Reading]: Answer<O> extends { data: readonly any[] } ? O : never }[Reading];

export type Row<O extends Listing> = Answer<O> extends { data: readonly (infer R)[] } ? R : never;

export interface Whole<R> {
  readonly data: readonly R[];
  readonly included: readonly any[];
  readonly meta: any;
  /** How many there are; more than `data` where the bound was reached. */
  readonly count: number;
}

/** A list that is needed as a whole: read page after page, up to a bound. */
export function askingWhole<O extends Listing>(operation: O, input: Input<O>, pagesMax = 20) {
  return queryOptions<Whole<Row<O>>, ApiError>({
    queryKey: [operation, input, "whole"],
    queryFn: async ({ signal }) => {
      const pageOf = (number: number) =>
        call(
          operation,
          { ...input, query: { ...input.query, "page[size]": wholePageSize, "page[number]": number } } as Input<O>,
          signal,
        ) as Promise<Answer<O> & { included?: readonly any[]; meta?: { pagination?: Pagination } }>;
      const first = await pageOf(1);
      const pagination = first.meta?.pagination;
      const pages = [first];
      for (let number = 2; number <= Math.min(pagination?.["total-pages"] ?? 1, pagesMax); number++)
        pages.push(await pageOf(number));
      return {
        data: pages.flatMap((page) => page.data as readonly any[]),
        included: pages.flatMap((page) => page.included ?? []),
        meta: first.meta,
        count: pagination?.["total-count"] ?? first.data.length,
      };
    },
  });
}

/** Only what may go better next time: not what the caller has no access to, or did wrong. */
const isWorthRetrying = (error: unknown) => !(error instanceof ApiError) || isNoAnswer(error);

export function newQueryClient(onSignedOut: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onSuccess: () => heard(),
      onError: (error) => {
        heard(error);
        if (error instanceof SessionEnded) onSignedOut();
      },
    }),
    mutationCache: new MutationCache({ onSuccess: () => heard(), onError: heard }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => count < 2 && isWorthRetrying(error),
        throwOnError: false,
        // A browser that says it is offline may still reach the server, and the other way round.
        networkMode: "always",
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

// ---- queries of several pages ----

export const account = () => asking("GET /account/details", {});
export const organizations = (page: string | undefined) =>
  askingOn("GET /organizations", { query: { "page[number]": page, "page[size]": 30 } });
export const organization = (name: string) =>
  asking("GET /organizations/{organization_name}", { path: { organization_name: name } });
export const workspaceNamed = (organization: string, name: string) =>
  asking("GET /organizations/{organization_name}/workspaces/{workspace_name}", {
    path: { organization_name: organization, workspace_name: name },
    // What any of a workspace's pages shows of it, in one request.
    query: { include: "project,current_run,locked_by,current_state_version,effective_tag_bindings" },
  });
export const project = (id: string) => asking("GET /projects/{project_id}", { path: { project_id: id } });
export const team = (id: string) =>
  asking("GET /teams/{team_id}", { path: { team_id: id }, query: { include: "users" } });

/** What the caller may do in an organization; undefined until that is known. */
export const useRights = (name: string) => useQuery(organization(name)).data?.data.attributes.permissions;
