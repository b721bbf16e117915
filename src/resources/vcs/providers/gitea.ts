/** Gitea and Forgejo. Their API is close to GitHub's, with another signature and some other values. */
import { github, readPullRequest, readPush, repositoryOf } from "./github.ts";
import {
  withoutTrailingSlash,
  basicAuth,
  hmacHex,
  type WebhookRequest,
  isEqualSecret,
  pageSize,
  pathOf,
  type VcsProvider,
} from "./provider.ts";

const actions = ["opened", "synchronized", "reopened"];

/** Forgejo, a fork of Gitea, sends its own headers and Gitea's. */
function giteaProvider(product: "gitea" | "forgejo"): VcsProvider {
  const header = (inbound: WebhookRequest, name: string) =>
    inbound.header(`x-${product}-${name}`) ?? inbound.header(`x-gitea-${name}`);
  return {
    ...github,
    source: "gitea",
    isAuthentic: (inbound, secret) => isEqualSecret(header(inbound, "signature"), hmacHex(inbound.body, secret)),
    parseWebhook(inbound, payload) {
      const repository = repositoryOf(payload);
      if (repository === undefined) return undefined;
      const event = header(inbound, "event");
      const events =
        event === "push" ? readPush(payload) : event === "pull_request" ? readPullRequest(payload, actions) : [];
      return events && { repository, deliveryId: header(inbound, "delivery"), events };
    },
    gitAuthorization: (token) => basicAuth("oauth2", token),
    apiAuthorization: (token) => `token ${token}`,
    addWebhookCalls: (connection, repository, { url, secret }) => [
      {
        method: "POST",
        url: `${withoutTrailingSlash(connection.apiUrl)}/repos/${pathOf(repository)}/hooks`,
        body: {
          type: product,
          active: true,
          // A new commit on a pull request is a separate event.
          events: ["push", "create", "pull_request", "pull_request_sync"],
          config: { url, secret, content_type: "json" },
        },
      },
    ],
    // The operator can configure the maximum page size; the default is 50.
    paging: "capped",
    repositoriesCall: ({ apiUrl }, page) => ({
      method: "GET",
      url: `${withoutTrailingSlash(apiUrl)}/user/repos?limit=${pageSize}&page=${page}`,
    }),
    branchesCall: ({ apiUrl }, repository, page) => ({
      method: "GET",
      url: `${withoutTrailingSlash(apiUrl)}/repos/${pathOf(repository)}/branches?limit=${pageSize}&page=${page}`,
    }),
  };
}

export const gitea: VcsProvider = giteaProvider("gitea");

export const forgejo: VcsProvider = giteaProvider("forgejo");
