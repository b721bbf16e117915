/** GitHub and GitHub Enterprise, which have the same API. */
import { z } from "zod";
import { type VcsRepositoryEvent, unknownSender } from "../triggers/repository-event.ts";
import {
  answerItemsMax,
  withoutTrailingSlash,
  basicAuth,
  bearerAuth,
  type CommitState,
  commitsListedMax,
  commitsOf,
  type ProviderConnection,
  filesOf,
  filesShape,
  hmacHex,
  isEqualSecret,
  isZero,
  nameShape,
  pageSize,
  pathOf,
  type VcsProvider,
  readRef,
  shaShape,
  urlShape,
  textShape,
} from "./provider.ts";

const repositoryShape = z.object({ full_name: nameShape, default_branch: nameShape.nullish() });
const senderShape = z
  .object({ login: nameShape, avatar_url: urlShape, html_url: urlShape })
  .transform(({ login, avatar_url, html_url }) => ({ username: login, avatarUrl: avatar_url, htmlUrl: html_url }))
  .nullish()
  .catch(null);
export const commitShape = z.object({
  id: z.string(),
  message: textShape,
  url: urlShape,
  added: filesShape,
  modified: filesShape,
  removed: filesShape,
});

const pushShape = z.object({
  ref: nameShape,
  before: shaShape,
  after: shaShape,
  created: z.boolean().nullish(),
  forced: z.boolean().nullish(),
  compare: urlShape,
  compare_url: urlShape,
  commits: commitsOf(commitShape),
  head_commit: commitShape.nullish(),
  total_commits: z.number().nullish(),
  repository: repositoryShape,
  sender: senderShape,
});

const sideShape = z.object({
  ref: nameShape,
  sha: shaShape,
  // Null if the fork was deleted.
  repo: z.object({ full_name: nameShape }).nullish(),
});
const pullRequestShape = z.object({
  action: z.string(),
  number: z.int().positive(),
  pull_request: z.object({ title: textShape, body: textShape, html_url: urlShape, head: sideShape, base: sideShape }),
  repository: repositoryShape,
  sender: senderShape,
});

export function readPush(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = pushShape.safeParse(payload);
  if (!read.success) return undefined;
  const { ref, before, after, repository, sender, ...push } = read.data;
  const commits = push.commits ?? [];
  const head = push.head_commit ?? commits.find(({ id }) => id === after);
  const isDeleted = isZero(after);
  const common = {
    sha: isDeleted ? before : after,
    message: head?.message ?? null,
    commitUrl: head?.url ?? null,
    compareUrl: push.compare ?? push.compare_url,
    sender: sender ?? unknownSender,
    defaultBranch: repository.default_branch ?? null,
    isDeleted,
  };
  const target = readRef(ref);
  if (target === undefined) return [];
  if ("tag" in target) return [{ kind: "tag", ...target, ...common }];
  // Commits removed by a forced push are not listed, and the list of a new branch is incomplete.
  const isComplete =
    !isZero(before) &&
    push.forced !== true &&
    commits.length < commitsListedMax &&
    commits.length >= (push.total_commits ?? 0);
  const files = isDeleted ? [] : filesOf(commits, isComplete);
  return [{ kind: "push", ...target, before: isZero(before) ? null : before, files, ...common }];
}

export function readPullRequest(
  payload: unknown,
  actions: readonly string[],
): readonly VcsRepositoryEvent[] | undefined {
  const read = pullRequestShape.safeParse(payload);
  if (!read.success) return undefined;
  const { action, number, pull_request: request, repository, sender } = read.data;
  if (!actions.includes(action)) return [];
  const { head, base: target } = request;
  const fork = head.repo?.full_name === repository.full_name ? null : (head.repo?.full_name ?? "a deleted repository");
  return [
    {
      kind: "pull-request",
      number,
      title: request.title ?? "",
      body: request.body,
      url: request.html_url,
      source: head.ref,
      target: target.ref,
      targetSha: target.sha,
      fork,
      ref: `refs/pull/${number}/head`,
      files: null,
      sha: head.sha,
      message: null,
      commitUrl: null,
      compareUrl: null,
      sender: sender ?? unknownSender,
      defaultBranch: repository.default_branch ?? null,
    },
  ];
}

export const repositoryOf = (payload: unknown): string | undefined =>
  z.object({ repository: z.object({ full_name: nameShape }) }).safeParse(payload).data?.repository.full_name;

/** GitHub has no states for "running" and "needs confirmation". */
const states: Readonly<Record<CommitState, string>> = {
  pending: "pending",
  running: "pending",
  "needs-confirmation": "pending",
  success: "success",
  failure: "failure",
  canceled: "error",
};

const actions = ["opened", "synchronize", "reopened"];
const repositoryApiUrl = ({ apiUrl }: ProviderConnection, repository: string) =>
  `${withoutTrailingSlash(apiUrl)}/repos/${pathOf(repository)}`;

export const namesIn = (shape: z.ZodType<string>) => (answer: unknown) =>
  z.array(shape).max(answerItemsMax).safeParse(answer).data ?? [];

export const github: VcsProvider = {
  source: "github",
  isAuthentic: ({ header, body }, secret) =>
    isEqualSecret(header("x-hub-signature-256"), `sha256=${hmacHex(body, secret)}`),
  parseWebhook({ header }, payload) {
    const repository = repositoryOf(payload);
    if (repository === undefined) return undefined;
    const event = header("x-github-event");
    const events =
      event === "push" ? readPush(payload) : event === "pull_request" ? readPullRequest(payload, actions) : [];
    return events && { repository, deliveryId: header("x-github-delivery"), events };
  },
  cloneUrl: ({ httpUrl }, repository) => `${withoutTrailingSlash(httpUrl)}/${pathOf(repository)}.git`,
  gitAuthorization: (token) => basicAuth("x-access-token", token),
  apiAuthorization: bearerAuth,
  statusCall: (connection, repository, { sha, state, context, description, url }) => ({
    method: "POST",
    url: `${repositoryApiUrl(connection, repository)}/statuses/${sha}`,
    body: { state: states[state], context, description: description.slice(0, 140), target_url: url },
  }),
  addWebhookCalls: (connection, repository, { url, secret }) => [
    {
      method: "POST",
      url: `${repositoryApiUrl(connection, repository)}/hooks`,
      body: {
        name: "web",
        active: true,
        events: ["push", "pull_request"],
        config: { url, secret, content_type: "json", insecure_ssl: "0" },
      },
    },
  ],
  removeWebhookCall: (connection, repository, id) => ({
    method: "DELETE",
    url: `${repositoryApiUrl(connection, repository)}/hooks/${encodeURIComponent(id)}`,
  }),
  parseWebhookId: (answer) => idIn(answer),
  repositoriesCall: ({ apiUrl }, page) => ({
    method: "GET",
    url: `${withoutTrailingSlash(apiUrl)}/user/repos?per_page=${pageSize}&page=${page}`,
  }),
  branchesCall: (connection, repository, page) => ({
    method: "GET",
    url: `${repositoryApiUrl(connection, repository)}/branches?per_page=${pageSize}&page=${page}`,
  }),
  parseRepositories: namesIn(z.object({ full_name: z.string() }).transform(({ full_name }) => full_name)),
  parseBranches: namesIn(z.object({ name: z.string() }).transform(({ name }) => name)),
};

export function idIn(answer: unknown): string | undefined {
  const id = z.object({ id: z.union([z.number(), z.string()]) }).safeParse(answer).data?.id;
  return id === undefined ? undefined : String(id);
}
