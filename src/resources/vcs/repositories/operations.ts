/** Lists of repositories and branches: load → authorize → request from the provider. */
import type { ListAnswer } from "../../../jsonapi/define.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { AppError, conflict, notFound } from "../../../kernel/errors.ts";
import { fold, searchWords } from "../../../kernel/text.ts";
import { nowMs } from "../../../kernel/time.ts";
import { loadOauthToken, decryptOauthToken } from "../../connections/oauth-tokens/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { ApiFault, callApi } from "../connections.ts";
import { type ApiCall, type ProviderConnection, pageSize, type VcsProvider } from "../providers/provider.ts";
import { providerOf } from "../providers/providers.ts";
import { branches, repositories, type RemoteName } from "./definition.ts";

export const repositoryResource = implement(repositories, {
  listRepositories: ({ context, params, query }) =>
    listNames(context, params.oauthTokenId, { page: query.page, search: query.searchName }, (provider, connection) => ({
      call: (page) => provider.repositoriesCall(connection, page),
      parseNames: (answer) => provider.parseRepositories(answer, connection),
    })),
});

export const branchResource = implement(branches, {
  listBranches: ({ context, params, query }) => {
    const { repository = "" } = query;
    const listQuery = { page: query.page, search: query.searchName };
    return listNames(context, params.oauthTokenId, listQuery, (provider, connection) => ({
      call: (page) => provider.branchesCall(connection, repository, page),
      parseNames: provider.parseBranches,
    }));
  },
});

interface RepositoryListQuery {
  readonly page: Page;
  readonly search: string | undefined;
}

interface ProviderList {
  call(page: number): ApiCall;
  parseNames(answer: unknown): readonly string[];
}

/** Throws `not-found`, `conflict` if the provider refuses, and `unavailable` if it does not respond. */
async function listNames(
  context: Context,
  id: string,
  { page, search }: RepositoryListQuery,
  listOf: (provider: VcsProvider, connection: ProviderConnection) => ProviderList,
): Promise<ListAnswer<RemoteName>> {
  const tx = context.database.reader;
  await loadOauthToken(tx, context, id);
  const token = await decryptOauthToken(tx, context, id);
  if (token === undefined) throw notFound("OAuth token");
  const provider = providerOf(token.serviceProvider);
  const listing = {
    ...listOf(provider, token),
    paging: provider.paging,
    request: (call: ApiCall) => callApi(context, { provider, token }, call),
  };
  try {
    const { names, hasMore, isCutShort } = await fetchNames(listing, page, search);
    return { views: names.map((name) => ({ name })), hasMore, meta: { "is-cut-short": isCutShort } };
  } catch (error) {
    throw error instanceof ApiFault ? refusalOf(error) : error;
  }
}

function refusalOf({ status, isFinal, message }: ApiFault): AppError {
  if (status === 404)
    return new AppError(
      "not-found",
      `${message} It does not exist at the provider, or the connection can't see it. Check the repository, and the URLs of the OAuth client.`,
    );
  if (isFinal) return conflict(`${message} Check the token and the URLs of the OAuth client.`);
  return new AppError("unavailable", `${message} Try again shortly.`, { retryAfterSeconds: 10 });
}

const callsMax = 20;
const totalMs = 20_000;

export interface ProviderListing {
  readonly paging: VcsProvider["paging"];
  call(page: number): ApiCall;
  request(call: ApiCall): Promise<unknown>;
  parseNames(answer: unknown): readonly string[];
}

export interface ProviderListResult {
  readonly names: readonly string[];
  readonly hasMore: boolean;
  readonly isCutShort: boolean;
}

async function fetchNames(listing: ProviderListing, page: Page, search = ""): Promise<ProviderListResult> {
  const first = (page.number - 1) * page.size;
  const needed = first + page.size;
  const found: string[] = [];
  const words = searchWords(search);
  const until = nowMs() + totalMs;
  let isComplete = false;
  for (let number = 1; !isComplete && found.length <= needed && number <= callsMax && nowMs() < until; number += 1) {
    const names = listing.parseNames(await listing.request(listing.call(number)));
    found.push(...names.filter((name) => words.every((word) => fold(name).includes(word))));
    isComplete = isLastPage(listing.paging, names.length);
  }
  const isCutShort = !isComplete && found.length <= needed;
  return { names: found.slice(first, needed), hasMore: found.length > needed, isCutShort };
}

const isLastPage = (paging: VcsProvider["paging"], count: number): boolean =>
  paging === "none" || count === 0 || (paging !== "capped" && count < pageSize);
