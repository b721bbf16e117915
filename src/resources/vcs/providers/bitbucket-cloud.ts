/** Bitbucket Cloud. Its webhooks contain no file lists. */
import { z } from "zod";
import { type VcsRepositoryEvent, unknownSender } from "../triggers/repository-event.ts";
import {
  answerItemsMax,
  withoutTrailingSlash,
  basicAuth,
  bearerAuth,
  type CommitState,
  type ProviderConnection,
  hmacHex,
  isEqualSecret,
  nameShape,
  pageSize,
  pathOf,
  type VcsProvider,
  shaShape,
  urlShape,
  textShape,
} from "./provider.ts";

const linkShape = z
  .object({ html: z.object({ href: urlShape }).nullish() })
  .nullish()
  .transform((links) => links?.html?.href ?? null);

const actorShape = z
  .object({ nickname: nameShape.nullish(), display_name: nameShape.nullish(), links: linkShape })
  .transform(({ nickname, display_name, links }) => ({
    ...unknownSender,
    username: nickname ?? display_name ?? null,
    htmlUrl: links,
  }))
  .nullish()
  .catch(null);

const repositoryShape = z.object({
  full_name: nameShape,
  mainbranch: z.object({ name: nameShape }).nullish(),
});

const sideShape = z.object({
  type: z.string(),
  name: nameShape,
  target: z.object({ hash: shaShape, message: textShape, links: linkShape }),
});

const pushShape = z.object({
  actor: actorShape,
  repository: repositoryShape,
  push: z.object({
    changes: z.array(z.object({ old: sideShape.nullish(), new: sideShape.nullish(), links: linkShape })).max(100),
  }),
});
type BitbucketChange = z.output<typeof pushShape>["push"]["changes"][number];

const endShape = z.object({
  branch: z.object({ name: nameShape }),
  // Abbreviated in pull request events.
  commit: z.object({ hash: z.string().regex(/^[0-9a-f]{7,64}$/) }),
  repository: z.object({ full_name: nameShape }).nullish(),
});
const requestShape = z.object({
  actor: actorShape,
  repository: repositoryShape,
  pullrequest: z.object({
    id: z.int().positive(),
    title: textShape,
    description: textShape,
    links: linkShape,
    source: endShape,
    destination: endShape,
  }),
});

function readPush(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = pushShape.safeParse(payload);
  if (!read.success) return undefined;
  const { actor, repository, push } = read.data;
  return push.changes.flatMap((change) =>
    readChange(change, actor ?? unknownSender, repository.mainbranch?.name ?? null),
  );
}

function readChange(
  change: BitbucketChange,
  sender: VcsRepositoryEvent["sender"],
  defaultBranch: string | null,
): VcsRepositoryEvent[] {
  const side = change.new ?? change.old;
  if (side == null) return [];
  const { hash: sha, message, links: commitUrl } = side.target;
  const isDeleted = change.new == null;
  const common = { sha, message, commitUrl, compareUrl: change.links, sender, defaultBranch, isDeleted };
  if (side.type === "tag") return [{ kind: "tag", tag: side.name, ...common }];
  if (side.type !== "branch") return [];
  return [{ kind: "push", branch: side.name, before: change.old?.target.hash ?? null, files: null, ...common }];
}

function readPullRequest(payload: unknown): readonly VcsRepositoryEvent[] | undefined {
  const read = requestShape.safeParse(payload);
  if (!read.success) return undefined;
  const { actor, repository, pullrequest: request } = read.data;
  const from = request.source.repository?.full_name;
  return [
    {
      kind: "pull-request",
      number: request.id,
      title: request.title ?? "",
      body: request.description,
      url: request.links,
      source: request.source.branch.name,
      target: request.destination.branch.name,
      targetSha: null,
      fork: from === repository.full_name ? null : (from ?? "a deleted repository"),
      ref: `refs/heads/${request.source.branch.name}`,
      files: null,
      sha: request.source.commit.hash,
      message: null,
      commitUrl: null,
      compareUrl: null,
      sender: actor ?? unknownSender,
      defaultBranch: repository.mainbranch?.name ?? null,
    },
  ];
}

const readers: Readonly<Record<string, (payload: unknown) => readonly VcsRepositoryEvent[] | undefined>> = {
  "repo:push": readPush,
  "pullrequest:created": readPullRequest,
  "pullrequest:updated": readPullRequest,
};

export const states: Readonly<Record<CommitState, string>> = {
  pending: "INPROGRESS",
  running: "INPROGRESS",
  "needs-confirmation": "INPROGRESS",
  success: "SUCCESSFUL",
  failure: "FAILED",
  canceled: "FAILED",
};

export const keyOf = (context: string): string =>
  context.length <= 40 ? context : hmacHex(Buffer.from(context), "key").slice(0, 40);

const repositoryApiUrl = ({ apiUrl }: ProviderConnection, repository: string) =>
  `${withoutTrailingSlash(apiUrl)}/repositories/${pathOf(repository)}`;

export const valuesIn = (shape: z.ZodType<string>) => (answer: unknown) =>
  z.object({ values: z.array(shape).max(answerItemsMax) }).safeParse(answer).data?.values ?? [];

export const bitbucketCloud: VcsProvider = {
  source: "bitbucket",
  isAuthentic: ({ header, body }, secret) =>
    isEqualSecret(header("x-hub-signature"), `sha256=${hmacHex(body, secret)}`),
  parseWebhook({ header }, payload) {
    const repository = z.object({ repository: repositoryShape }).safeParse(payload).data?.repository;
    const event = header("x-event-key");
    if (repository === undefined || event === undefined) return undefined;
    const events = Object.hasOwn(readers, event) ? readers[event]?.(payload) : [];
    return events && { repository: repository.full_name, deliveryId: header("x-request-uuid"), events };
  },
  cloneUrl: ({ httpUrl }, repository) => `${withoutTrailingSlash(httpUrl)}/${pathOf(repository)}.git`,
  gitAuthorization: (token) => basicAuth("x-token-auth", token),
  apiAuthorization: bearerAuth,
  statusCall: (connection, repository, { sha, state, context, description, url }) => ({
    method: "POST",
    url: `${repositoryApiUrl(connection, repository)}/commit/${sha}/statuses/build`,
    body: { key: keyOf(context), name: context, state: states[state], description, url },
  }),
  addWebhookCalls: (connection, repository, { url, secret }) => [
    {
      method: "POST",
      url: `${repositoryApiUrl(connection, repository)}/hooks`,
      body: {
        description: "Cadastre",
        url,
        secret,
        active: true,
        events: ["repo:push", "pullrequest:created", "pullrequest:updated"],
      },
    },
  ],
  removeWebhookCall: (connection, repository, id) => ({
    method: "DELETE",
    url: `${repositoryApiUrl(connection, repository)}/hooks/${encodeURIComponent(id)}`,
  }),
  parseWebhookId: (answer) => z.object({ uuid: z.string() }).safeParse(answer).data?.uuid,
  repositoriesCall: ({ apiUrl }, page) => ({
    method: "GET",
    url: `${withoutTrailingSlash(apiUrl)}/repositories?role=member&pagelen=${pageSize}&page=${page}`,
  }),
  branchesCall: (connection, repository, page) => ({
    method: "GET",
    url: `${repositoryApiUrl(connection, repository)}/refs/branches?pagelen=${pageSize}&page=${page}`,
  }),
  parseRepositories: valuesIn(z.object({ full_name: z.string() }).transform(({ full_name }) => full_name)),
  parseBranches: valuesIn(z.object({ name: z.string() }).transform(({ name }) => name)),
};
