/** What happens in a repository, in one form for all providers. Everything in it was sent by others. */

interface Commit {
  readonly sha: string;
  /** What its author says about it; null where the provider does not tell. */
  readonly message: string | null;
  readonly commitUrl: string | null;
  readonly compareUrl: string | null;
}

interface Sender {
  readonly username: string | null;
  readonly avatarUrl: string | null;
  readonly htmlUrl: string | null;
}

interface Common {
  readonly sender: Sender;
  /** Null where the provider does not tell. */
  readonly defaultBranch: string | null;
}

export interface Push extends Common, Commit {
  readonly kind: "push";
  readonly branch: string;
  /** The commit that the branch was at; null for a new one. */
  readonly before: string | null;
  readonly isDeleted: boolean;
  /** Every file that was added, changed or removed, also by its former name; null where the list is not there or not whole. */
  readonly files: readonly string[] | null;
}

export interface TagPush extends Common, Commit {
  readonly kind: "tag";
  readonly tag: string;
  readonly isDeleted: boolean;
}

export interface PullRequest extends Common, Commit {
  readonly kind: "pull-request";
  readonly number: number;
  readonly title: string;
  readonly body: string | null;
  readonly url: string | null;
  readonly source: string;
  readonly target: string;
  /** The commit that the target is at. */
  readonly targetSha: string | null;
  /** The repository that it comes from, where that is another. */
  readonly fork: string | null;
  /** By which the commit can be had where a provider gives nothing by its id alone. */
  readonly ref: string | null;
  readonly files: null;
}

export type Happening = Push | TagPush | PullRequest;

export const nobody: Sender = { username: null, avatarUrl: null, htmlUrl: null };

/** By which its commit can be had where a provider gives nothing by its id alone. */
export const refOf = (happening: Happening): string | undefined =>
  happening.kind === "push"
    ? `refs/heads/${happening.branch}`
    : happening.kind === "tag"
      ? `refs/tags/${happening.tag}`
      : (happening.ref ?? undefined);

/** What people call it: `push 9f86d08`. */
export function nameOf(happening: Happening): string {
  const sha = happening.sha.slice(0, 7);
  if (happening.kind === "push") return `push ${sha}`;
  return happening.kind === "tag" ? `tag ${happening.tag} (${sha})` : `pull request ${happening.number} (${sha})`;
}
