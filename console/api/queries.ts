/** Query helpers. A query's key is its operation and parameters, which "Show as API" needs. */
import {
  useQuery,
  queryOptions,
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  useQueries,
} from "@tanstack/react-query";
import { call, type OperationResponse, type OperationInput, type ApiOperation } from "./client.ts";
import { noteResponse, isUnreachable } from "./connection.ts";
import { ApiError, SessionEnded } from "./errors.ts";
import type { Pagination } from "./schema.gen.ts";
import { useCallback, useState } from "react";

export type ReadOperation = Extract<ApiOperation, `GET ${string}`>;

export function apiQuery<O extends ReadOperation>(operation: O, input: OperationInput<O>) {
  return queryOptions<OperationResponse<O>, ApiError>({
    queryKey: [operation, input],
    queryFn: ({ signal }) => call(operation, input, signal),
  });
}

export const pagedQuery = <O extends ReadOperation>(operation: O, input: OperationInput<O>) => ({
  ...apiQuery(operation, input),
  placeholderData: keepPreviousData,
});

const wholePageSize = 100;

export type ListOperation = {
  readonly [O in ReadOperation]: OperationResponse<O> extends { data: readonly any[] } ? O : never;
}[ReadOperation];

export type ListRow<O extends ListOperation> = OperationResponse<O> extends { data: readonly (infer R)[] } ? R : never;

export interface CompleteList<R> {
  readonly data: readonly R[];
  readonly included: readonly any[];
  readonly meta: any;
  /** Larger than the length of `data` if the limit was reached. */
  readonly count: number;
}

export function completeListQuery<O extends ListOperation>(operation: O, input: OperationInput<O>, pagesMax = 20) {
  return queryOptions<CompleteList<ListRow<O>>, ApiError>({
    queryKey: [operation, input, "whole"],
    queryFn: async ({ signal }) => {
      const pageOf = (number: number) =>
        call(
          operation,
          {
            ...input,
            query: { ...input.query, "page[size]": wholePageSize, "page[number]": number },
          } as OperationInput<O>,
          signal,
        ) as Promise<OperationResponse<O> & { included?: readonly any[]; meta?: { pagination?: Pagination } }>;
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

const isWorthRetrying = (error: unknown) => !(error instanceof ApiError) || isUnreachable(error);

export function newQueryClient(onSignedOut: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onSuccess: () => noteResponse(),
      onError: (error) => {
        noteResponse(error);
        if (error instanceof SessionEnded) onSignedOut();
      },
    }),
    mutationCache: new MutationCache({ onSuccess: () => noteResponse(), onError: noteResponse }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => count < 2 && isWorthRetrying(error),
        throwOnError: false,
        // Browsers are wrong about being offline in both directions.
        networkMode: "always",
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

export const account = () => apiQuery("GET /account/details", {});
export const organizations = (page: string | undefined) =>
  pagedQuery("GET /organizations", { query: { "page[number]": page, "page[size]": 30 } });
export const organization = (name: string) =>
  apiQuery("GET /organizations/{organization_name}", { path: { organization_name: name } });
export const workspaceNamed = (organization: string, name: string) =>
  apiQuery("GET /organizations/{organization_name}/workspaces/{workspace_name}", {
    path: { organization_name: organization, workspace_name: name },
    query: { include: "project,current_run,locked_by,current_state_version,effective_tag_bindings" },
  });
export const project = (id: string) => apiQuery("GET /projects/{project_id}", { path: { project_id: id } });
export const team = (id: string) =>
  apiQuery("GET /teams/{team_id}", { path: { team_id: id }, query: { include: "users" } });

export const useRights = (name: string) => useQuery(organization(name)).data?.data.attributes.permissions;

const size = 100;

export interface PagedRows<R, A> {
  readonly count: number | undefined;
  readonly rowAt: (index: number) => { readonly row: R; readonly page: A } | undefined;
  readonly onRange: (first: number, last: number) => void;
  readonly error: unknown;
  readonly isLoading: boolean;
}

const items = new WeakMap<object, { readonly row: any; readonly page: any }>();

/** A stable object, so that memoized rows are not rendered again. */
function itemOf<R, A>(row: R & object, page: A): { readonly row: R; readonly page: A } {
  const known = items.get(row);
  if (known?.page === page) return known;
  const item = { row, page };
  items.set(row, item);
  return item;
}

const pageOf = <O extends ListOperation>(operation: O, input: OperationInput<O>, number: number) =>
  apiQuery(operation, {
    ...input,
    query: { ...input.query, "page[size]": size, "page[number]": number },
  } as OperationInput<O>);

export const firstPage = <O extends ListOperation>(operation: O, input: OperationInput<O>) =>
  pageOf(operation, input, 1);

export function useRows<O extends ListOperation>(
  operation: O,
  input: OperationInput<O>,
): PagedRows<ListRow<O>, OperationResponse<O>> {
  const [range, setRange] = useState<readonly [number, number]>([1, 1]);
  // The first page has the total; the previous data stays until it arrives.
  const first = useQuery({ ...firstPage(operation, input), placeholderData: keepPreviousData });
  const numbers = Array.from({ length: range[1] - range[0] + 1 }, (_, index) => range[0] + index).filter(
    (number) => number > 1,
  );
  const others = useQueries({ queries: numbers.map((number) => pageOf(operation, input, number)) });
  const pages = new Map<number, OperationResponse<O>>(first.data === undefined ? [] : [[1, first.data]]);
  numbers.forEach((number, index) => {
    const page = others[index]?.data;
    if (page !== undefined) pages.set(number, page as OperationResponse<O>);
  });
  const onRange = useCallback((from: number, to: number) => {
    const next = [Math.floor(from / size) + 1, Math.floor(to / size) + 1] as const;
    setRange((now) => (now[0] === next[0] && now[1] === next[1] ? now : next));
  }, []);
  const meta = (first.data as { meta?: { pagination?: Pagination } } | undefined)?.meta;
  return {
    count: meta?.pagination?.["total-count"],
    rowAt: (index) => {
      const page = pages.get(Math.floor(index / size) + 1);
      const row = (page?.data as readonly ListRow<O>[] | undefined)?.[index % size];
      return page === undefined || row === undefined ? undefined : itemOf(row as ListRow<O> & object, page);
    },
    onRange,
    error: first.error,
    isLoading: first.isLoading,
  };
}
