/** Operations on what a connection can see: load → authorize → ask the provider. Nothing is written. */
import type { ListAnswer } from "../../../jsonapi/define.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { AppError, conflict, notFound } from "../../../kernel/errors.ts";
import { loadOauthToken, openToken } from "../../connections/oauth-tokens/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { ApiFault, callApi } from "../connections.ts";
import type { ApiCall, Connection, Provider } from "../providers/provider.ts";
import { providerOf } from "../providers/providers.ts";
import { branches, repositories, type Seen } from "./definition.ts";
import { listed } from "./listing.ts";

export const repositoryResource = implement(repositories, {
  listRepositories: ({ context, params, query }) =>
    list(context, params.oauthTokenId, { page: query.page, search: query.searchName }, (provider, connection) => ({
      call: (page) => provider.repositories(connection, page),
      names: (answer) => provider.names.repositories(answer, connection),
    })),
});

export const branchResource = implement(branches, {
  listBranches: ({ context, params, query }) => {
    const { repository = "" } = query;
    const what = { page: query.page, search: query.searchName };
    return list(context, params.oauthTokenId, what, (provider, connection) => ({
      call: (page) => provider.branches(connection, repository, page),
      names: provider.names.branches,
    }));
  },
});

interface Asked {
  readonly page: Page;
  readonly search: string | undefined;
}

interface Kind {
  call(page: number): ApiCall;
  names(answer: unknown): readonly string[];
}

/** Raises `not-found`, `conflict` where the provider refuses, and `unavailable` where it does not answer. */
async function list(
  context: Context,
  id: string,
  { page, search }: Asked,
  kindOf: (provider: Provider, connection: Connection) => Kind,
): Promise<ListAnswer<Seen>> {
  const tx = context.database.reader;
  await loadOauthToken(tx, context, id);
  const token = await openToken(tx, context, id);
  if (token === undefined) throw notFound("OAuth token");
  const provider = providerOf(token.serviceProvider);
  const listing = {
    ...kindOf(provider, token),
    lists: provider.lists,
    ask: (call: ApiCall) => callApi(context, { provider, token }, call),
  };
  try {
    const { names, hasMore, isCutShort } = await listed(listing, page, search);
    return { views: names.map((name) => ({ name })), hasMore, meta: { "is-cut-short": isCutShort } };
  } catch (error) {
    throw error instanceof ApiFault ? refusalOf(error) : error;
  }
}

/** What a provider says, as an answer of ours. */
function refusalOf({ status, isFinal, message }: ApiFault): AppError {
  if (status === 404)
    return new AppError(
      "not-found",
      `${message} There is nothing like that at the provider, or the connection may not see it. Check the repository, and the addresses of the OAuth client.`,
    );
  if (isFinal) return conflict(`${message} Check the token and the addresses of the OAuth client.`);
  return new AppError("unavailable", `${message} Try again shortly.`, { retryAfterSeconds: 10 });
}
