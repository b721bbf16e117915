/** GitLab, hosted and self-managed. It sends the secret itself instead of a signature. */
import { z } from "zod";
import { type VcsRepositoryEvent, unknownSender } from "../triggers/repository-event.ts";
import { commitShape, idIn, namesIn } from "./github.ts";
import {
  withoutTrailingSlash,
  basicAuth,
  bearerAuth,
  type CommitState,
  commitsOf,
  type ProviderConnection,
  filesOf,
  isEqualSecret,
  isZero,
  nameShape,
  pageSize,
  type VcsProvider,
  readRef,
  shaShape,
  urlShape,
  textShape,
} from "./provider.ts";

const projectShape = z.object({
  path_with_namespace: nameShape,
  default_branch: nameShape.nullish(),
  web_url: urlShape,
});

const pushShape = z.object({
  ref: nameShape,
  before: shaShape,
  after: shaShape,
  user_username: nameShape.nullish(),
  user_avatar: urlShape,
  project: projectShape,
  commits: commitsOf(commitShape),
  total_commits_count: z.number().nullish(),
});

const requestShape = z.object({
  user: z.object({ username: nameShape.nullish(), avatar_url: urlShape }).nullish(),
  project: projectShape,
  object_attributes: z.object({
    iid: z.int().positive(),
    action: z.string().nullish(),
    oldrev: z.string().nullish(),
    title: textShape,
    description: textShape,
    url: urlShape,
    source_branch: nameShape,
    target_branch: nameShape,
    source_project_id: z.number(),
    target_project_id: z.number(),
    source: z.object({ path_with_namespace: nameShape }).nullish(),
    last_commit: z.object({ id: shaShape, message: textShape, url: urlShape }),
  }),
});

function readPush(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = pushShape.safeParse(payload);
  if (!read.success) return undefined;
  const { ref, before, after, project, ...push } = read.data;
  const target = readRef(ref);
  if (target === undefined) return [];
  const isDeleted = isZero(after);
  const commits = push.commits ?? [];
  const head = commits.find(({ id }) => id === after);
  const sha = isDeleted ? before : after;
  const common = {
    sha,
    message: head?.message ?? null,
    commitUrl: head?.url ?? null,
    compareUrl:
      project.web_url === null || isZero(before) || isDeleted
        ? null
        : `${project.web_url}/-/compare/${before}...${after}`,
    sender: { ...unknownSender, username: push.user_username ?? null, avatarUrl: push.user_avatar },
    defaultBranch: project.default_branch ?? null,
    isDeleted,
  };
  if ("tag" in target) return [{ kind: "tag", ...target, ...common }];
  const isComplete = !isZero(before) && commits.length >= (push.total_commits_count ?? Number.POSITIVE_INFINITY);
  const files = isDeleted ? [] : filesOf(commits, isComplete);
  return [{ kind: "push", ...target, before: isZero(before) ? null : before, files, ...common }];
}

function readMergeRequest(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = requestShape.safeParse(payload);
  if (!read.success) return undefined;
  const { object_attributes: request, project, user } = read.data;
  const { action, last_commit: commit, iid: number } = request;
  const isNew = action === "open" || action === "reopen" || (action === "update" && request.oldrev != null);
  if (!isNew) return [];
  const isFork = request.source_project_id !== request.target_project_id;
  return [
    {
      kind: "pull-request",
      number,
      title: request.title ?? "",
      body: request.description,
      url: request.url,
      source: request.source_branch,
      target: request.target_branch,
      targetSha: null,
      fork: isFork ? (request.source?.path_with_namespace ?? `project ${request.source_project_id}`) : null,
      ref: `refs/merge-requests/${number}/head`,
      files: null,
      sha: commit.id,
      message: commit.message,
      commitUrl: commit.url,
      compareUrl: null,
      sender: { ...unknownSender, username: user?.username ?? null, avatarUrl: user?.avatar_url ?? null },
      defaultBranch: project.default_branch ?? null,
    },
  ];
}

const readers: Readonly<Record<string, (payload: unknown) => readonly VcsRepositoryEvent[] | undefined>> = {
  "Push Hook": readPush,
  "Tag Push Hook": readPush,
  "Merge Request Hook": readMergeRequest,
};

const states: Readonly<Record<CommitState, string>> = {
  pending: "pending",
  running: "running",
  "needs-confirmation": "running",
  success: "success",
  failure: "failed",
  canceled: "canceled",
};

const repositoryApiUrl = ({ apiUrl }: ProviderConnection, repository: string) =>
  `${withoutTrailingSlash(apiUrl)}/projects/${encodeURIComponent(repository)}`;

export const gitlab: VcsProvider = {
  source: "gitlab",
  isAuthentic: ({ header }, secret) => isEqualSecret(header("x-gitlab-token"), secret),
  parseWebhook({ header }, payload) {
    const project = z.object({ project: projectShape }).safeParse(payload).data?.project;
    const event = header("x-gitlab-event");
    if (project === undefined || event === undefined) return undefined;
    const events = (Object.hasOwn(readers, event) ? readers[event]?.(payload) : undefined) ?? [];
    return {
      repository: project.path_with_namespace,
      // Stays the same for a repeated delivery; the event UUID is shared by all webhooks of one event.
      deliveryId: header("idempotency-key") ?? header("x-gitlab-event-uuid"),
      events,
    };
  },
  cloneUrl: ({ httpUrl }, repository) => `${withoutTrailingSlash(httpUrl)}/${repository}.git`,
  gitAuthorization: (token) => basicAuth("oauth2", token),
  apiAuthorization: bearerAuth,
  statusCall: (connection, repository, { sha, state, context, description, url }) => ({
    method: "POST",
    url: `${repositoryApiUrl(connection, repository)}/statuses/${sha}`,
    body: { state: states[state], name: context, description: description.slice(0, 255), target_url: url },
  }),
  addWebhookCalls: (connection, repository, { url, secret }) => [
    {
      method: "POST",
      url: `${repositoryApiUrl(connection, repository)}/hooks`,
      body: {
        url,
        token: secret,
        push_events: true,
        tag_push_events: true,
        merge_requests_events: true,
        enable_ssl_verification: true,
      },
    },
  ],
  removeWebhookCall: (connection, repository, id) => ({
    method: "DELETE",
    url: `${repositoryApiUrl(connection, repository)}/hooks/${encodeURIComponent(id)}`,
  }),
  parseWebhookId: idIn,
  repositoriesCall: ({ apiUrl }, page) => ({
    method: "GET",
    url: `${withoutTrailingSlash(apiUrl)}/projects?membership=true&simple=true&per_page=${pageSize}&page=${page}`,
  }),
  branchesCall: (connection, repository, page) => ({
    method: "GET",
    url: `${repositoryApiUrl(connection, repository)}/repository/branches?per_page=${pageSize}&page=${page}`,
  }),
  parseRepositories: namesIn(
    z.object({ path_with_namespace: z.string() }).transform(({ path_with_namespace }) => path_with_namespace),
  ),
  parseBranches: namesIn(z.object({ name: z.string() }).transform(({ name }) => name)),
};
