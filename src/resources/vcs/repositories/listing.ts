/** Walks through what a provider lists, a page at a time, until a page of ours is full: bounded in time and in how often it is asked. */
import type { Page } from "../../../jsonapi/query.ts";
import { fold, searchWords } from "../../../kernel/text.ts";
import { nowMs } from "../../../kernel/time.ts";
import { type ApiCall, pageSize, type Provider } from "../providers/provider.ts";

/** More pages of the provider's are not asked for. */
const callsMax = 20;
const totalMs = 20_000;

export interface Listing {
  readonly lists: Provider["lists"];
  call(page: number): ApiCall;
  ask(call: ApiCall): Promise<unknown>;
  names(answer: unknown): readonly string[];
}

export interface Found {
  readonly names: readonly string[];
  readonly hasMore: boolean;
  /** Whether there may be more than was looked at. */
  readonly isCutShort: boolean;
}

export async function listed(listing: Listing, page: Page, search = ""): Promise<Found> {
  const first = (page.number - 1) * page.size;
  const needed = first + page.size;
  const found: string[] = [];
  const words = searchWords(search);
  const until = nowMs() + totalMs;
  let isWhole = false;
  for (let number = 1; !isWhole && found.length <= needed && number <= callsMax && nowMs() < until; number += 1) {
    const names = listing.names(await listing.ask(listing.call(number)));
    found.push(...names.filter((name) => words.every((word) => fold(name).includes(word))));
    isWhole = isLast(listing.lists, names.length);
  }
  const isCutShort = !isWhole && found.length <= needed;
  return { names: found.slice(first, needed), hasMore: found.length > needed, isCutShort };
}

const isLast = (lists: Provider["lists"], count: number): boolean =>
  lists === "whole" || count === 0 || (lists !== "capped" && count < pageSize);
