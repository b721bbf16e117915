/** A list that is needed as a whole: asked for page after page, up to a bound. */
import { queryOptions } from "@tanstack/react-query";
import { call, type Answer, type Input } from "./client.ts";
import type { ApiError } from "./errors.ts";
import type { Reading } from "./queries.ts";
import type { Pagination } from "./schema.gen.ts";

const size = 100;

export type Listing = { readonly [O in Reading]: Answer<O> extends { data: readonly any[] } ? O : never }[Reading];

export type Row<O extends Listing> = Answer<O> extends { data: readonly (infer R)[] } ? R : never;

export interface Whole<O extends Listing> {
  readonly data: readonly Row<O>[];
  readonly included: readonly any[];
  readonly meta: any;
  /** How many there are; more than `data` where the bound was reached. */
  readonly count: number;
}

export function askingWhole<O extends Listing>(operation: O, input: Input<O>, pagesMax = 20) {
  return queryOptions<Whole<O>, ApiError>({
    queryKey: [operation, input, "whole"],
    queryFn: async ({ signal }) => {
      const pageOf = (number: number) =>
        call(
          operation,
          { ...input, query: { ...input.query, "page[size]": size, "page[number]": number } } as Input<O>,
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
