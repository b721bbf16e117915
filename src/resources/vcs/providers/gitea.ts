/** Gitea. It speaks much of GitHub's language, with a signature and a few words of its own. */
import { github, readPullRequest, readPush, repositoryOf } from "./github.ts";
import { base, basic, hmacHex, type Inbound, isSame, pageSize, pathOf, type Provider } from "./provider.ts";

const actions = ["opened", "synchronized", "reopened"];

/** The product's name is in its headers. Forgejo, which grew out of Gitea, sends both its own and Gitea's. */
function ofTheGiteaFamily(product: "gitea" | "forgejo"): Provider {
  const header = ({ header: of }: Inbound, name: string) => of(`x-${product}-${name}`) ?? of(`x-gitea-${name}`);
  return {
    ...github,
    source: "gitea",
    isAuthentic: (inbound, secret) => isSame(header(inbound, "signature"), hmacHex(inbound.body, secret)),
    read(inbound, payload) {
      const repository = repositoryOf(payload);
      if (repository === undefined) return undefined;
      const event = header(inbound, "event");
      const events =
        event === "push" ? readPush(payload) : event === "pull_request" ? readPullRequest(payload, actions) : [];
      return events && { repository, deliveryId: header(inbound, "delivery"), events };
    },
    gitAuthorization: (token) => basic("oauth2", token),
    apiAuthorization: (token) => `token ${token}`,
    addWebhooks: (connection, repository, { url, secret }) => [
      {
        method: "POST",
        url: `${base(connection.apiUrl)}/repos/${pathOf(repository)}/hooks`,
        body: {
          type: product,
          active: true,
          // A new commit on a request is an event of its own here.
          events: ["push", "create", "pull_request", "pull_request_sync"],
          config: { url, secret, content_type: "json" },
        },
      },
    ],
    // An operator may set how much it answers with at most; 50 where nobody did.
    lists: "capped",
    repositories: ({ apiUrl }, page) => ({
      method: "GET",
      url: `${base(apiUrl)}/user/repos?limit=${pageSize}&page=${page}`,
    }),
    branches: ({ apiUrl }, repository, page) => ({
      method: "GET",
      url: `${base(apiUrl)}/repos/${pathOf(repository)}/branches?limit=${pageSize}&page=${page}`,
    }),
  };
}

export const gitea: Provider = ofTheGiteaFamily("gitea");

export const forgejo: Provider = ofTheGiteaFamily("forgejo");
