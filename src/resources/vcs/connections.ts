/** Opens a workspace's connection to its VCS provider, and calls the provider's API. */
import type { Tx } from "../../database/database.ts";
import { parseBounded } from "../../kernel/bounded-json.ts";
import { sendRequest, ForbiddenAddress, OutgoingError } from "../../outgoing/request.ts";
import { type WebhookConnection, loadWebhookConnection } from "../connections/oauth-clients/reads.ts";
import { type DecryptedOauthToken, decryptOauthToken } from "../connections/oauth-tokens/reads.ts";
import type { Context } from "../shared/context.ts";
import { FetchFault } from "./fetching/faults.ts";
import type { GitRepository } from "./fetching/fetch.ts";
import type { GitSandboxOptions } from "./fetching/git-sandbox.ts";
import type { ApiCall, VcsProvider } from "./providers/provider.ts";
import { providerOf } from "./providers/providers.ts";

export interface OpenConnection extends WebhookConnection {
  readonly provider: VcsProvider;
  readonly token: DecryptedOauthToken;
}

/** Undefined if the token, and with it the connection, was deleted. */
export async function openConnection(
  tx: Tx,
  context: Context,
  oauthTokenId: string | null,
): Promise<OpenConnection | undefined> {
  const token = oauthTokenId === null ? undefined : await decryptOauthToken(tx, context, oauthTokenId);
  const connection = token && (await loadWebhookConnection(tx, context, token.oauthClientId));
  return connection && { ...connection, token, provider: providerOf(connection.serviceProvider) };
}

export class ApiFault extends Error {
  override readonly name = "ApiFault";
  /** Whether a retry would fail too. */
  readonly isFinal: boolean;
  readonly status: number | undefined;

  constructor(sentence: string, isFinal: boolean, status?: number) {
    super(sentence);
    this.isFinal = isFinal;
    this.status = status;
  }
}

const apiTimeoutMs = 15_000;
const apiBytesMax = 4 * 1024 * 1024;
const retryableStatuses = [408, 425, 429];

export type ApiTarget = Pick<OpenConnection, "provider"> & { readonly token: Pick<DecryptedOauthToken, "secret"> };

/** Undefined if the response is not JSON. Throws ApiFault. */
export async function callApi(
  context: Pick<Context, "options">,
  { provider, token }: ApiTarget,
  call: ApiCall,
): Promise<unknown> {
  const { privateAddresses: allowed = [] } = context.options;
  const headers = {
    ...(token.secret !== undefined && { authorization: provider.apiAuthorization(token.secret) }),
    ...(call.body !== undefined && { "content-type": "application/json" }),
  };
  const body = call.body === undefined ? {} : { body: JSON.stringify(call.body) };
  const response = await sendRequest(
    call.url,
    { method: call.method, headers, ...body },
    { allowed, timeoutMs: apiTimeoutMs, bytesMax: apiBytesMax },
  ).catch((error: unknown) => {
    if (error instanceof OutgoingError) throw new ApiFault(error.message, error instanceof ForbiddenAddress);
    throw error;
  });
  const { status, body: text } = response;
  const { host } = new URL(call.url);
  if (status < 200 || status >= 300) {
    const isFinal = status >= 300 && status < 500 && !retryableStatuses.includes(status);
    throw new ApiFault(`${host} responded with status ${status}${reasonIn(text)}.`, isFinal, status);
  }
  if (response.isCut) throw new ApiFault(`The response of ${host} has more than ${apiBytesMax} bytes.`, true, status);
  return parsed(text);
}

function parsed(text: string): unknown {
  try {
    return parseBounded(Buffer.from(text));
  } catch {
    return undefined;
  }
}

function reasonIn(text: string): string {
  const { message } = (parsed(text) ?? {}) as { message?: unknown };
  return typeof message === "string" && message !== "" ? ` (${message.slice(0, 200)})` : "";
}

export const gitSandboxOptionsOf = ({ options }: Context, signal: AbortSignal): GitSandboxOptions => ({
  allowed: options.privateAddresses ?? [],
  knownHosts: options.knownHosts,
  sandbox: options.sandbox,
  signal,
});

/** The SSH key is also used for submodules. Throws FetchFault. */
export async function repositoryOf(context: Context, connection: OpenConnection, name: string): Promise<GitRepository> {
  const { provider, token } = connection;
  const isOverSsh = token.sshKey !== undefined && provider.overSsh !== undefined;
  const url = isOverSsh ? await sshUrl(context, connection, name) : provider.cloneUrl(connection, name);
  const authorization = token.secret === undefined ? undefined : provider.gitAuthorization(token.secret);
  const origin = URL.canParse(connection.httpUrl) ? new URL(connection.httpUrl).origin : "";
  return {
    url,
    credentials: {
      authorization: authorization && origin ? { origin, value: authorization } : undefined,
      sshKey: token.sshKey,
    },
  };
}

async function sshUrl(context: Context, connection: OpenConnection, name: string): Promise<string> {
  const over = connection.provider.overSsh;
  try {
    const url = over?.read(await callApi(context, connection, over.call(connection, name)));
    if (url !== undefined) return url;
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    throw new FetchFault("provider", error.message, { isFinal: error.isFinal });
  }
  throw new FetchFault("provider", "the provider's API returned no SSH URL for the repository", {
    isFinal: true,
  });
}
