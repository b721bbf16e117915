/** Events in a repository, in one format for all providers. All values are untrusted input. */

interface EventCommit {
  readonly sha: string;
  /** Null if the provider does not send it. */
  readonly message: string | null;
  readonly commitUrl: string | null;
  readonly compareUrl: string | null;
}

interface EventSender {
  readonly username: string | null;
  readonly avatarUrl: string | null;
  readonly htmlUrl: string | null;
}

interface EventOrigin {
  readonly sender: EventSender;
  readonly defaultBranch: string | null;
}

export interface Push extends EventOrigin, EventCommit {
  readonly kind: "push";
  readonly branch: string;
  readonly before: string | null;
  readonly isDeleted: boolean;
  /** Includes old names; null if the list is missing or incomplete. */
  readonly files: readonly string[] | null;
}

export interface TagPush extends EventOrigin, EventCommit {
  readonly kind: "tag";
  readonly tag: string;
  readonly isDeleted: boolean;
}

export interface PullRequest extends EventOrigin, EventCommit {
  readonly kind: "pull-request";
  readonly number: number;
  readonly title: string;
  readonly body: string | null;
  readonly url: string | null;
  readonly source: string;
  readonly target: string;
  readonly targetSha: string | null;
  readonly fork: string | null;
  readonly ref: string | null;
  readonly files: null;
}

export type VcsRepositoryEvent = Push | TagPush | PullRequest;

export const unknownSender: EventSender = { username: null, avatarUrl: null, htmlUrl: null };

/** For providers that do not serve commits by SHA. */
export const refOf = (event: VcsRepositoryEvent): string | undefined =>
  event.kind === "push"
    ? `refs/heads/${event.branch}`
    : event.kind === "tag"
      ? `refs/tags/${event.tag}`
      : (event.ref ?? undefined);

/** `push 9f86d08` */
export function eventLabel(event: VcsRepositoryEvent): string {
  const sha = event.sha.slice(0, 7);
  if (event.kind === "push") return `push ${sha}`;
  return event.kind === "tag" ? `tag ${event.tag} (${sha})` : `pull request ${event.number} (${sha})`;
}
