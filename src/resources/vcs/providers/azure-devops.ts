/** Azure DevOps Services and Server. They send the secret as a basic-auth password, and no file lists. */
import { z } from "zod";
import { type VcsRepositoryEvent, unknownSender } from "../triggers/repository-event.ts";
import { idIn } from "./github.ts";
import {
  answerItemsMax,
  withoutTrailingSlash,
  basicAuth,
  type CommitState,
  commitsOf,
  type ProviderConnection,
  isEqualSecret,
  isZero,
  nameShape,
  type VcsProvider,
  readRef,
  shaShape,
  textShape,
} from "./provider.ts";

const repositoryShape = z.object({
  remoteUrl: z.url().max(2048),
  defaultBranch: nameShape.nullish(),
});

const actorShape = z
  .object({ uniqueName: nameShape.nullish(), displayName: nameShape.nullish() })
  .transform(({ uniqueName, displayName }) => ({ ...unknownSender, username: uniqueName ?? displayName ?? null }))
  .nullish()
  .catch(null);

const pushShape = z.object({
  resource: z.object({
    refUpdates: z.array(z.object({ name: nameShape, oldObjectId: shaShape, newObjectId: shaShape })).max(100),
    commits: commitsOf(z.object({ commitId: z.string(), comment: textShape })),
    repository: repositoryShape,
    pushedBy: actorShape,
  }),
});

const requestShape = z.object({
  eventType: z.string(),
  resource: z.object({
    pullRequestId: z.int().positive(),
    status: z.string(),
    title: textShape,
    description: textShape,
    sourceRefName: nameShape,
    targetRefName: nameShape,
    lastMergeSourceCommit: z.object({ commitId: shaShape }),
    lastMergeTargetCommit: z.object({ commitId: shaShape }).nullish(),
    repository: repositoryShape,
    forkSource: z.object({ repository: z.object({ name: nameShape.nullish() }).nullish() }).nullish(),
    createdBy: actorShape,
  }),
});

const branchOf = (ref: string | null | undefined) => ref?.replace(/^refs\/heads\//, "") ?? null;

function readPush(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = pushShape.safeParse(payload);
  if (!read.success) return undefined;
  const { refUpdates, commits, repository, pushedBy } = read.data.resource;
  return refUpdates.flatMap(({ name, oldObjectId, newObjectId }): VcsRepositoryEvent[] => {
    const target = readRef(name);
    if (target === undefined) return [];
    const isDeleted = isZero(newObjectId);
    const common = {
      sha: isDeleted ? oldObjectId : newObjectId,
      message: commits?.find(({ commitId }) => commitId === newObjectId)?.comment ?? null,
      commitUrl: null,
      compareUrl: null,
      sender: pushedBy ?? unknownSender,
      defaultBranch: branchOf(repository.defaultBranch),
      isDeleted,
    };
    if ("tag" in target) return [{ kind: "tag", ...target, ...common }];
    return [{ kind: "push", ...target, before: isZero(oldObjectId) ? null : oldObjectId, files: null, ...common }];
  });
}

function readPullRequest(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = requestShape.safeParse(payload);
  if (!read.success) return undefined;
  const { resource: request } = read.data;
  if (request.status !== "active") return [];
  return [
    {
      kind: "pull-request",
      number: request.pullRequestId,
      title: request.title ?? "",
      body: request.description,
      url: null,
      source: branchOf(request.sourceRefName) ?? "",
      target: branchOf(request.targetRefName) ?? "",
      targetSha: request.lastMergeTargetCommit?.commitId ?? null,
      fork: request.forkSource == null ? null : (request.forkSource.repository?.name ?? "another repository"),
      ref: request.sourceRefName.startsWith("refs/heads/") ? request.sourceRefName : null,
      files: null,
      sha: request.lastMergeSourceCommit.commitId,
      message: null,
      commitUrl: null,
      compareUrl: null,
      sender: request.createdBy ?? unknownSender,
      defaultBranch: branchOf(request.repository.defaultBranch),
    },
  ];
}

const readers: Readonly<Record<string, (payload: unknown) => readonly VcsRepositoryEvent[] | undefined>> = {
  "git.push": readPush,
  "git.pullrequest.created": readPullRequest,
  // Also sent for a changed title; a commit is not planned twice.
  "git.pullrequest.updated": readPullRequest,
};

/** `https://USER@dev.azure.com/acme/Net/_git/vpc` under `https://dev.azure.com` → `acme/Net/_git/vpc` */
function repositoryAt(remoteUrl: string, { httpUrl }: ProviderConnection): string {
  const root = URL.canParse(httpUrl) ? withoutTrailingSlash(new URL(httpUrl).pathname) : "";
  const path = new URL(remoteUrl).pathname;
  return (path.startsWith(`${root}/`) ? path.slice(root.length) : path).replace(/^\//, "");
}

const envelope = z.object({
  id: nameShape.nullish(),
  eventType: z.string(),
  resource: z.object({ repository: repositoryShape }),
});

const states: Readonly<Record<CommitState, string>> = {
  pending: "pending",
  running: "pending",
  "needs-confirmation": "pending",
  success: "succeeded",
  failure: "failed",
  canceled: "error",
};

function partsOf(repository: string): { organization: string; project: string; name: string } {
  const parts = repository.split("/");
  const name = parts.pop() ?? "";
  if (parts.at(-1) === "_git") parts.pop();
  const project = parts.pop() ?? "";
  return { organization: parts.join("/"), project, name };
}

const version = "api-version=6.0";
function repositoryApiUrl({ apiUrl }: ProviderConnection, repository: string): string {
  const { organization, project, name } = partsOf(repository);
  return `${organizationApiUrl(apiUrl, organization)}/${project}/_apis/git/repositories/${name}`;
}
/** The organization may be part of the connection's URL. */
const organizationApiUrl = (apiUrl: string, organization: string) =>
  `${withoutTrailingSlash(apiUrl)}${organization && "/"}${organization}`;
const hooksOf = ({ apiUrl }: ProviderConnection, repository: string) =>
  `${organizationApiUrl(apiUrl, partsOf(repository).organization)}/_apis/hooks/subscriptions`;

const user = "cadastre";

export const azureDevops: VcsProvider = {
  source: "ado",
  isAuthentic: ({ header }, secret) => isEqualSecret(header("authorization"), basicAuth(user, secret)),
  parseWebhook(_inbound, payload, connection) {
    const read = envelope.safeParse(payload).data;
    if (read === undefined) return undefined;
    const events = Object.hasOwn(readers, read.eventType) ? readers[read.eventType]?.(payload) : [];
    const repository = repositoryAt(read.resource.repository.remoteUrl, connection);
    return events && { repository, deliveryId: read.id ?? undefined, events };
  },
  cloneUrl: ({ httpUrl }, repository) => `${withoutTrailingSlash(httpUrl)}/${repository}`,
  gitAuthorization: (token) => basicAuth(user, token),
  apiAuthorization: (token) => basicAuth(user, token),
  overSsh: {
    call: (connection, repository) => ({
      method: "GET",
      url: `${repositoryApiUrl(connection, repository)}?${version}`,
    }),
    read: (answer) => z.object({ sshUrl: z.string() }).safeParse(answer).data?.sshUrl,
  },
  statusCall: (connection, repository, { sha, state, context, description, url }) => ({
    method: "POST",
    url: `${repositoryApiUrl(connection, repository)}/commits/${sha}/statuses?${version}`,
    body: { state: states[state], description, targetUrl: url, context: { genre: "cadastre", name: context } },
  }),
  addWebhookCalls: (connection, repository, { url, secret }) =>
    Object.keys(readers).map((eventType) => ({
      method: "POST",
      url: `${hooksOf(connection, repository)}?${version}`,
      body: {
        publisherId: "tfs",
        eventType,
        resourceVersion: "1.0",
        consumerId: "webHooks",
        consumerActionId: "httpRequest",
        publisherInputs: { projectId: partsOf(repository).project, repository: partsOf(repository).name },
        consumerInputs: { url, basicAuthUsername: user, basicAuthPassword: secret },
      },
    })),
  removeWebhookCall: (connection, repository, id) => ({
    method: "DELETE",
    url: `${hooksOf(connection, repository)}/${encodeURIComponent(id)}?${version}`,
  }),
  parseWebhookId: idIn,
  paging: "none",
  // Only for one organization, which the connection's URL must contain.
  repositoriesCall: ({ apiUrl }) => ({
    method: "GET",
    url: `${withoutTrailingSlash(apiUrl)}/_apis/git/repositories?${version}`,
  }),
  branchesCall: (connection, repository) => ({
    method: "GET",
    url: `${repositoryApiUrl(connection, repository)}/refs?filter=heads/&${version}`,
  }),
  parseRepositories: (answer, connection) =>
    (
      z.object({ value: z.array(z.object({ remoteUrl: z.url() })).max(answerItemsMax) }).safeParse(answer).data
        ?.value ?? []
    ).map(({ remoteUrl }) => repositoryAt(remoteUrl, connection)),
  parseBranches: (answer) =>
    (
      z.object({ value: z.array(z.object({ name: z.string() })).max(answerItemsMax) }).safeParse(answer).data?.value ??
      []
    ).map(({ name }) => branchOf(name) ?? name),
};
