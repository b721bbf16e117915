/** A list of any length, page by page as its rows come into view. */
import { keepPreviousData, queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { call, type Answer, type Input } from "./client.ts";
import type { ApiError } from "./errors.ts";
import { asking, type Reading } from "./queries.ts";
import type { Pagination } from "./schema.gen.ts";

const size = 100;

type Listing = { readonly [O in Reading]: Answer<O> extends { data: readonly any[] } ? O : never }[Reading];
type Row<O extends Listing> = Answer<O> extends { data: readonly (infer R)[] } ? R : never;

export interface Rows<R, A> {
  readonly count: number | undefined;
  readonly rowAt: (index: number) => { readonly row: R; readonly page: A } | undefined;
  readonly onRange: (first: number, last: number) => void;
  readonly error: unknown;
  readonly isLoading: boolean;
}

const items = new WeakMap<object, { readonly row: any; readonly page: any }>();

/** The same object for the same row of the same page, so that what draws it knows that nothing changed. */
function itemOf<R, A>(row: R & object, page: A): { readonly row: R; readonly page: A } {
  const known = items.get(row);
  if (known?.page === page) return known;
  const item = { row, page };
  items.set(row, item);
  return item;
}

export function useRows<O extends Listing>(operation: O, input: Input<O>): Rows<Row<O>, Answer<O>> {
  const [range, setRange] = useState<readonly [number, number]>([1, 1]);
  const pageOf = (number: number) =>
    asking(operation, { ...input, query: { ...input.query, "page[size]": size, "page[number]": number } } as Input<O>);
  // The first page tells how many there are; what was there before stays until it comes.
  const first = useQuery({ ...pageOf(1), placeholderData: keepPreviousData });
  const numbers = Array.from({ length: range[1] - range[0] + 1 }, (_, index) => range[0] + index).filter(
    (number) => number > 1,
  );
  const others = useQueries({ queries: numbers.map(pageOf) });
  const pages = new Map<number, Answer<O>>(first.data === undefined ? [] : [[1, first.data]]);
  numbers.forEach((number, index) => {
    const page = others[index]?.data;
    if (page !== undefined) pages.set(number, page as Answer<O>);
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
      const row = (page?.data as readonly Row<O>[] | undefined)?.[index % size];
      return page === undefined || row === undefined ? undefined : itemOf(row as Row<O> & object, page);
    },
    onRange,
    error: first.error,
    isLoading: first.isLoading,
  };
}

const pagesMax = 20;

/** A list that has to be known whole, such as what a field offers: all of its pages as one answer, up to 2,000 rows. */
export function askingAll<O extends Listing>(operation: O, input: Input<O>) {
  return queryOptions<Answer<O>, ApiError>({
    queryKey: [operation, input, "all"],
    queryFn: async ({ signal }) => {
      const pageOf = (number: number) =>
        call(
          operation,
          { ...input, query: { ...input.query, "page[size]": size, "page[number]": number } } as Input<O>,
          signal,
        );
      const first = (await pageOf(1)) as Listed;
      const rows = [...first.data];
      const included = [...(first.included ?? [])];
      const last = Math.min(first.meta?.pagination?.["total-pages"] ?? 1, pagesMax);
      for (let number = 2; number <= last; number += 1) {
        const page = (await pageOf(number)) as Listed;
        rows.push(...page.data);
        included.push(...(page.included ?? []));
      }
      return { ...first, data: rows, included } as unknown as Answer<O>;
    },
  });
}

interface Listed {
  readonly data: readonly unknown[];
  readonly included?: readonly unknown[];
  readonly meta?: { readonly pagination?: Pagination };
}
