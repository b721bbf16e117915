/** Bitbucket Data Center and Server. Their webhooks contain no file lists, and repositories can be fetched over SSH. */
import { z } from "zod";
import { type VcsRepositoryEvent, unknownSender } from "../triggers/repository-event.ts";
import { keyOf, states, valuesIn } from "./bitbucket-cloud.ts";
import { idIn } from "./github.ts";
import {
  withoutTrailingSlash,
  bearerAuth,
  type ProviderConnection,
  hmacHex,
  isEqualSecret,
  isZero,
  nameShape,
  pageSize,
  type VcsProvider,
  readRef,
  shaShape,
  textShape,
} from "./provider.ts";

const repositoryShape = z.object({ slug: nameShape, project: z.object({ key: nameShape }) });
const fullName = ({ slug, project }: z.output<typeof repositoryShape>) => `${project.key}/${slug}`;

const actorShape = z
  .object({ name: nameShape })
  .transform(({ name }) => ({ ...unknownSender, username: name }))
  .nullish()
  .catch(null);

const pushShape = z.object({
  actor: actorShape,
  changes: z
    .array(z.object({ ref: z.object({ id: nameShape }), fromHash: shaShape, toHash: shaShape, type: z.string() }))
    .max(100),
});

const endShape = z.object({
  id: nameShape,
  displayId: nameShape,
  latestCommit: shaShape,
  repository: repositoryShape,
});
const requestShape = z.object({
  actor: actorShape,
  pullRequest: z.object({
    id: z.int().positive(),
    title: textShape,
    description: textShape,
    fromRef: endShape,
    toRef: endShape,
  }),
});

function readPush(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = pushShape.safeParse(payload);
  if (!read.success) return undefined;
  const { actor, changes } = read.data;
  return changes.flatMap(({ ref, fromHash, toHash, type }): VcsRepositoryEvent[] => {
    const target = readRef(ref.id);
    if (target === undefined) return [];
    const isDeleted = type === "DELETE" || isZero(toHash);
    const common = {
      sha: isDeleted ? fromHash : toHash,
      message: null,
      commitUrl: null,
      compareUrl: null,
      sender: actor ?? unknownSender,
      defaultBranch: null,
      isDeleted,
    };
    if ("tag" in target) return [{ kind: "tag", ...target, ...common }];
    return [{ kind: "push", ...target, before: isZero(fromHash) ? null : fromHash, files: null, ...common }];
  });
}

function readPullRequest(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = requestShape.safeParse(payload);
  if (!read.success) return undefined;
  const { actor, pullRequest: request } = read.data;
  const { fromRef, toRef, id: number } = request;
  const [from, to] = [fullName(fromRef.repository), fullName(toRef.repository)];
  return [
    {
      kind: "pull-request",
      number,
      title: request.title ?? "",
      body: request.description,
      url: null,
      source: fromRef.displayId,
      target: toRef.displayId,
      targetSha: toRef.latestCommit,
      fork: from === to ? null : from,
      ref: `refs/pull-requests/${number}/from`,
      files: null,
      sha: fromRef.latestCommit,
      message: null,
      commitUrl: null,
      compareUrl: null,
      sender: actor ?? unknownSender,
      defaultBranch: null,
    },
  ];
}

const readers: Readonly<Record<string, (payload: unknown) => readonly VcsRepositoryEvent[] | undefined>> = {
  "repo:refs_changed": readPush,
  "pr:opened": readPullRequest,
  "pr:from_ref_updated": readPullRequest,
};

const repositoryIn = z.union([
  z.object({ repository: repositoryShape }).transform(({ repository }) => fullName(repository)),
  requestShape.transform(({ pullRequest }) => fullName(pullRequest.toRef.repository)),
]);

const partsOf = (repository: string) => {
  const [project = "", slug = ""] = repository.split("/").map(encodeURIComponent);
  return { project, slug };
};
function repositoryApiUrl({ apiUrl }: ProviderConnection, repository: string): string {
  const { project, slug } = partsOf(repository);
  return `${withoutTrailingSlash(apiUrl)}/rest/api/1.0/projects/${project}/repos/${slug}`;
}
const pageQuery = (page: number) => `limit=${pageSize}&start=${(page - 1) * pageSize}`;

const cloneLinks = z.object({
  links: z.object({ clone: z.array(z.object({ name: z.string(), href: z.string() })).max(100) }),
});

export const bitbucketDataCenter: VcsProvider = {
  source: "bitbucket",
  isAuthentic: ({ header, body }, secret) =>
    isEqualSecret(header("x-hub-signature"), `sha256=${hmacHex(body, secret)}`),
  parseWebhook({ header }, payload) {
    const repository = repositoryIn.safeParse(payload).data;
    const event = header("x-event-key");
    if (repository === undefined || event === undefined) return undefined;
    const events = Object.hasOwn(readers, event) ? readers[event]?.(payload) : [];
    return events && { repository, deliveryId: header("x-request-id"), events };
  },
  cloneUrl({ httpUrl }, repository) {
    const { project, slug } = partsOf(repository);
    return `${withoutTrailingSlash(httpUrl)}/scm/${project}/${slug}.git`;
  },
  gitAuthorization: bearerAuth,
  apiAuthorization: bearerAuth,
  overSsh: {
    call: (connection, repository) => ({ method: "GET", url: repositoryApiUrl(connection, repository) }),
    read: (answer) => cloneLinks.safeParse(answer).data?.links.clone.find(({ name }) => name === "ssh")?.href,
  },
  statusCall: (connection, repository, { sha, state, context, description, url }) => ({
    method: "POST",
    url: `${repositoryApiUrl(connection, repository)}/commits/${sha}/builds`,
    body: { key: keyOf(context), name: context, state: states[state], description, url },
  }),
  addWebhookCalls: (connection, repository, { url, secret }) => [
    {
      method: "POST",
      url: `${repositoryApiUrl(connection, repository)}/webhooks`,
      body: {
        name: "Cadastre",
        url,
        active: true,
        events: ["repo:refs_changed", "pr:opened", "pr:from_ref_updated"],
        configuration: { secret },
      },
    },
  ],
  removeWebhookCall: (connection, repository, id) => ({
    method: "DELETE",
    url: `${repositoryApiUrl(connection, repository)}/webhooks/${encodeURIComponent(id)}`,
  }),
  parseWebhookId: idIn,
  repositoriesCall: ({ apiUrl }, page) => ({
    method: "GET",
    url: `${withoutTrailingSlash(apiUrl)}/rest/api/1.0/repos?${pageQuery(page)}`,
  }),
  branchesCall: (connection, repository, page) => ({
    method: "GET",
    url: `${repositoryApiUrl(connection, repository)}/branches?${pageQuery(page)}`,
  }),
  parseRepositories: valuesIn(repositoryShape.transform(fullName) as unknown as z.ZodType<string>),
  parseBranches: valuesIn(z.object({ displayId: z.string() }).transform(({ displayId }) => displayId)),
};
