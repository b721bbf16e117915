/** Links and metadata of a list's pages. Links are paths without a host. */
import type { Page } from "./query.ts";

export interface PageInfo {
  readonly page: Page;
  readonly totalCount: number;
  readonly url: string;
}

export function pagination({ page, totalCount, url }: PageInfo) {
  const totalPages = Math.max(1, Math.ceil(totalCount / page.size));
  const prevPage = page.number > 1 ? Math.min(page.number - 1, totalPages) : null;
  const nextPage = page.number < totalPages ? page.number + 1 : null;
  const link = (number: number) => pageLink(url, { number, size: page.size });
  return {
    links: {
      self: link(page.number),
      first: link(1),
      prev: prevPage === null ? null : link(prevPage),
      next: nextPage === null ? null : link(nextPage),
      last: link(totalPages),
    },
    meta: {
      pagination: {
        "current-page": page.number,
        "page-size": page.size,
        "prev-page": prevPage,
        "next-page": nextPage,
        "total-pages": totalPages,
        "total-count": totalCount,
      },
    },
  };
}

/** For lists without a total count. */
export function paginationWithoutTotal({
  page,
  hasMore,
  url,
}: Pick<PageInfo, "page" | "url"> & { readonly hasMore: boolean }) {
  const prevPage = page.number > 1 ? page.number - 1 : null;
  const nextPage = hasMore ? page.number + 1 : null;
  const link = (number: number) => pageLink(url, { number, size: page.size });
  return {
    links: {
      self: link(page.number),
      prev: prevPage === null ? null : link(prevPage),
      next: nextPage === null ? null : link(nextPage),
    },
    meta: {
      pagination: {
        "current-page": page.number,
        "page-size": page.size,
        "prev-page": prevPage,
        "next-page": nextPage,
      },
    },
  };
}

function pageLink(url: string, page: Page): string {
  return withParameters(url, { "page[number]": String(page.number), "page[size]": String(page.size) });
}

export function withParameters(url: string, parameters: Readonly<Record<string, string>>): string {
  const [path = "", query = ""] = url.split("?", 2);
  const search = new URLSearchParams(query);
  for (const [name, value] of Object.entries(parameters)) search.set(name, value);
  return `${path}?${search.toString()}`;
}
