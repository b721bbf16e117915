/** A list of any length, page by page as its rows come into view. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { Answer, Input } from "./client.ts";
import { asking, type Listing, type Row } from "./queries.ts";
import type { Pagination } from "./schema.gen.ts";

const size = 100;

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

const pageOf = <O extends Listing>(operation: O, input: Input<O>, number: number) =>
  asking(operation, { ...input, query: { ...input.query, "page[size]": size, "page[number]": number } } as Input<O>);

/** The page that a list begins with, for the loader of its page. */
export const firstPage = <O extends Listing>(operation: O, input: Input<O>) => pageOf(operation, input, 1);

export function useRows<O extends Listing>(operation: O, input: Input<O>): Rows<Row<O>, Answer<O>> {
  const [range, setRange] = useState<readonly [number, number]>([1, 1]);
  // The first page tells how many there are; what was there before stays until it comes.
  const first = useQuery({ ...firstPage(operation, input), placeholderData: keepPreviousData });
  const numbers = Array.from({ length: range[1] - range[0] + 1 }, (_, index) => range[0] + index).filter(
    (number) => number > 1,
  );
  const others = useQueries({ queries: numbers.map((number) => pageOf(operation, input, number)) });
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
