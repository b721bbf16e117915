/** Webhook payloads of each provider, as documented, with their signatures. */
import { createHmac, randomBytes } from "node:crypto";
import type { Json } from "./api.ts";
import { unique } from "./builders.ts";

export const newSha = (): string => randomBytes(20).toString("hex");
export const zeros = "0".repeat(40);
const hmac = (body: string, secret: string) => createHmac("sha256", secret).update(body).digest("hex");
const basic = (secret: string) => `Basic ${Buffer.from(`cadastre:${secret}`).toString("base64")}`;

export interface Sent {
  readonly repository: string;
  readonly branch: string;
  readonly before: string;
  readonly after: string;
  readonly files: readonly string[];
  readonly message: string;
}

const pushed: Sent = {
  repository: "acme/network",
  branch: "main",
  before: newSha(),
  after: newSha(),
  files: ["main.tf"],
  message: "Add a network",
};

export interface TestProvider {
  readonly serviceProvider: string;
  readonly repository: string;
  headers(event: "push" | "tag" | "pull-request" | "star", body: string, secret: string): Record<string, string>;
  push(sent?: Partial<Sent>): Json;
  tag(name: string, sha?: string): Json;
  pullRequest(change?: { number?: number; sha?: string; fork?: string; target?: string; isNew?: boolean }): Json;
  /** Whether its payloads list the files. */
  readonly namesFiles: boolean;
}

const githubRepository = { full_name: "acme/network", default_branch: "main", clone_url: "https://evil.example/x.git" };
const sender = { login: "ada", avatar_url: "https://github.example/ada.png", html_url: "https://github.example/ada" };

function githubLike(serviceProvider: string, synchronized: string, headers: TestProvider["headers"]): TestProvider {
  const commitOf = ({ after, message, files }: Sent) => ({
    id: after,
    message,
    url: `https://github.example/acme/network/commit/${after}`,
    added: files,
    removed: [],
    modified: [],
  });
  return {
    serviceProvider,
    repository: "acme/network",
    namesFiles: true,
    headers,
    push: (change = {}) => {
      const sent = { ...pushed, after: newSha(), ...change };
      return {
        ref: `refs/heads/${sent.branch}`,
        before: sent.before,
        after: sent.after,
        created: sent.before === zeros,
        deleted: sent.after === zeros,
        forced: false,
        compare: "https://github.example/acme/network/compare/a...b",
        commits: sent.after === zeros ? [] : [commitOf(sent)],
        head_commit: sent.after === zeros ? null : commitOf(sent),
        repository: { ...githubRepository, full_name: sent.repository },
        sender,
      };
    },
    tag: (name, sha = newSha()) => ({
      ref: `refs/tags/${name}`,
      before: zeros,
      after: sha,
      created: true,
      commits: [],
      repository: githubRepository,
      sender,
    }),
    pullRequest: ({ number = 7, sha = newSha(), fork, target = "main", isNew = false } = {}) => ({
      action: isNew ? "opened" : synchronized,
      number,
      pull_request: {
        title: "A change",
        body: "Because.",
        html_url: `https://github.example/acme/network/pull/${number}`,
        head: { ref: "feature", sha, repo: { full_name: fork ?? "acme/network" } },
        base: { ref: target, sha: newSha(), repo: { full_name: "acme/network" } },
      },
      repository: githubRepository,
      sender,
    }),
  };
}

const githubEvents = { push: "push", tag: "push", "pull-request": "pull_request", star: "star" };
const giteaHeaders =
  (...products: string[]): TestProvider["headers"] =>
  (event, body, secret) => ({
    ...Object.fromEntries(
      products.flatMap((product) => [
        [`x-${product}-event`, githubEvents[event]],
        [`x-${product}-signature`, hmac(body, secret)],
        [`x-${product}-delivery`, unique("delivery")],
      ]),
    ),
    // Gitea and Forgejo send GitHub's headers too.
    "x-github-event": githubEvents[event],
    "x-hub-signature-256": "sha256=of-another-kind",
  });

const gitlabEvents = {
  push: "Push Hook",
  tag: "Tag Push Hook",
  "pull-request": "Merge Request Hook",
  star: "Note Hook",
};
const gitlabProject = {
  path_with_namespace: "acme/network",
  default_branch: "main",
  web_url: "https://gitlab.example/acme/network",
};
const cloudEvents = {
  push: "repo:push",
  tag: "repo:push",
  "pull-request": "pullrequest:updated",
  star: "repo:commit_comment_created",
};
const serverEvents = {
  push: "repo:refs_changed",
  tag: "repo:refs_changed",
  "pull-request": "pr:from_ref_updated",
  star: "diagnostics:ping",
};
const serverRepository = { slug: "network", project: { key: "acme" } };
const azureRepository = {
  name: "network",
  remoteUrl: "https://acme@dev.azure.example/acme/infra/_git/network",
  defaultBranch: "refs/heads/main",
  project: { name: "infra" },
};
const azure = (eventType: string, resourceOf: object) => ({ id: unique("event"), eventType, resource: resourceOf });

export const providers: Readonly<Record<string, TestProvider>> = {
  github: githubLike("github", "synchronize", (event, body, secret) => ({
    "x-github-event": githubEvents[event],
    "x-github-delivery": unique("delivery"),
    "x-hub-signature-256": `sha256=${hmac(body, secret)}`,
  })),
  gitea: githubLike("gitea", "synchronized", giteaHeaders("gitea")),
  forgejo: githubLike("forgejo", "synchronized", giteaHeaders("forgejo", "gitea")),
  gitlab: {
    serviceProvider: "gitlab_hosted",
    repository: "acme/network",
    namesFiles: true,
    headers: (event, _body, secret) => ({
      "x-gitlab-event": gitlabEvents[event],
      "x-gitlab-event-uuid": unique("delivery"),
      "x-gitlab-token": secret,
    }),
    push: (change = {}) => {
      const { branch, before, after, files, message } = { ...pushed, after: newSha(), ...change };
      return {
        object_kind: "push",
        ref: `refs/heads/${branch}`,
        before,
        after,
        checkout_sha: after,
        user_username: "ada",
        project: { ...gitlabProject, path_with_namespace: change.repository ?? "acme/network" },
        commits: [{ id: after, message, url: "https://gitlab.example/c", added: files, modified: [], removed: [] }],
        total_commits_count: 1,
      };
    },
    tag: (name, sha = newSha()) => ({
      object_kind: "tag_push",
      ref: `refs/tags/${name}`,
      before: zeros,
      after: sha,
      project: gitlabProject,
      commits: [],
      total_commits_count: 0,
    }),
    pullRequest: ({ number = 7, sha = newSha(), fork, target = "main", isNew = false } = {}) => ({
      object_kind: "merge_request",
      user: { username: "ada" },
      project: gitlabProject,
      object_attributes: {
        iid: number,
        action: isNew ? "open" : "update",
        ...(!isNew && { oldrev: newSha() }),
        title: "A change",
        description: "Because.",
        url: `https://gitlab.example/acme/network/-/merge_requests/${number}`,
        source_branch: "feature",
        target_branch: target,
        source_project_id: fork === undefined ? 1 : 2,
        target_project_id: 1,
        source: { path_with_namespace: fork ?? "acme/network" },
        last_commit: { id: sha, message: "A change", url: "https://gitlab.example/c" },
      },
    }),
  },
  "bitbucket cloud": {
    serviceProvider: "bitbucket_hosted",
    repository: "acme/network",
    namesFiles: false,
    headers: (event, body, secret) => ({
      "x-event-key": cloudEvents[event],
      "x-request-uuid": unique("delivery"),
      "x-hub-signature": `sha256=${hmac(body, secret)}`,
    }),
    push: (change = {}) => {
      const { branch, before, after, message } = { ...pushed, after: newSha(), ...change };
      const side = (hash: string) => ({ type: "branch", name: branch, target: { hash, message } });
      return {
        actor: { nickname: "ada", display_name: "Ada" },
        repository: { full_name: change.repository ?? "acme/network", mainbranch: { name: "main" } },
        push: {
          changes: [
            {
              old: before === zeros ? null : side(before),
              new: after === zeros ? null : side(after),
              created: before === zeros,
              closed: after === zeros,
              commits: [{ hash: after, message }],
              truncated: false,
            },
          ],
        },
      };
    },
    tag: (name, sha = newSha()) => ({
      repository: { full_name: "acme/network", mainbranch: { name: "main" } },
      push: {
        changes: [{ old: null, new: { type: "tag", name, target: { hash: sha } }, created: true, closed: false }],
      },
    }),
    pullRequest: ({ number = 7, sha = newSha(), fork, target = "main" } = {}) => ({
      actor: { nickname: "ada" },
      repository: { full_name: "acme/network", mainbranch: { name: "main" } },
      pullrequest: {
        id: number,
        title: "A change",
        source: {
          branch: { name: "feature" },
          commit: { hash: sha },
          repository: { full_name: fork ?? "acme/network" },
        },
        destination: {
          branch: { name: target },
          commit: { hash: newSha() },
          repository: { full_name: "acme/network" },
        },
      },
    }),
  },
  "bitbucket data center": {
    serviceProvider: "bitbucket_data_center",
    repository: "acme/network",
    namesFiles: false,
    headers: (event, body, secret) => ({
      "x-event-key": serverEvents[event],
      "x-request-id": unique("delivery"),
      "x-hub-signature": `sha256=${hmac(body, secret)}`,
    }),
    push: (change = {}) => {
      const { branch, before, after } = { ...pushed, after: newSha(), ...change };
      const type = after === zeros ? "DELETE" : before === zeros ? "ADD" : "UPDATE";
      const [key = "", slug = ""] = (change.repository ?? "acme/network").split("/");
      return {
        eventKey: "repo:refs_changed",
        actor: { name: "ada" },
        repository: { slug, project: { key } },
        changes: [
          {
            ref: { id: `refs/heads/${branch}`, displayId: branch, type: "BRANCH" },
            fromHash: before,
            toHash: after,
            type,
          },
        ],
      };
    },
    tag: (name, sha = newSha()) => ({
      actor: { name: "ada" },
      repository: serverRepository,
      changes: [
        { ref: { id: `refs/tags/${name}`, displayId: name, type: "TAG" }, fromHash: zeros, toHash: sha, type: "ADD" },
      ],
    }),
    pullRequest: ({ number = 7, sha = newSha(), fork, target = "main" } = {}) => {
      const [key = "", slug = ""] = (fork ?? "acme/network").split("/");
      return {
        actor: { name: "ada" },
        pullRequest: {
          id: number,
          title: "A change",
          fromRef: {
            id: "refs/heads/feature",
            displayId: "feature",
            latestCommit: sha,
            repository: { slug, project: { key } },
          },
          toRef: {
            id: `refs/heads/${target}`,
            displayId: target,
            latestCommit: newSha(),
            repository: serverRepository,
          },
        },
      };
    },
  },
  "azure devops": {
    serviceProvider: "ado_services",
    repository: "acme/infra/_git/network",
    namesFiles: false,
    headers: (_event, _body, secret) => ({ authorization: basic(secret) }),
    push: (change = {}) => {
      const { branch, before, after, message } = { ...pushed, after: newSha(), ...change };
      const other = change.repository && { remoteUrl: `https://dev.azure.example/${change.repository}` };
      return azure("git.push", {
        refUpdates: [{ name: `refs/heads/${branch}`, oldObjectId: before, newObjectId: after }],
        commits: [{ commitId: after, comment: message }],
        repository: { ...azureRepository, ...other },
        pushedBy: { uniqueName: "ada@acme.example", displayName: "Ada" },
      });
    },
    tag: (name, sha = newSha()) =>
      azure("git.push", {
        refUpdates: [{ name: `refs/tags/${name}`, oldObjectId: zeros, newObjectId: sha }],
        commits: [],
        repository: azureRepository,
      }),
    pullRequest: ({ number = 7, sha = newSha(), fork, target = "main" } = {}) =>
      azure("git.pullrequest.updated", {
        pullRequestId: number,
        status: "active",
        title: "A change",
        sourceRefName: "refs/heads/feature",
        targetRefName: `refs/heads/${target}`,
        lastMergeSourceCommit: { commitId: sha },
        lastMergeTargetCommit: { commitId: newSha() },
        repository: azureRepository,
        ...(fork !== undefined && { forkSource: { repository: { name: fork } } }),
        createdBy: { uniqueName: "ada@acme.example" },
      }),
  },
};

export const { github } = providers as { github: TestProvider };
