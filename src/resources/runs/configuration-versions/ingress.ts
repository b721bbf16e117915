/** The commit that a configuration was fetched from, as it is kept in the row of its configuration version. */

export interface Ingress {
  readonly branch: string;
  readonly cloneUrl: string;
  readonly commitMessage: string;
  readonly commitSha: string;
  readonly commitUrl: string;
  readonly compareUrl: string | null;
  /** `ORGANIZATION/REPOSITORY`. */
  readonly identifier: string;
  readonly isPullRequest: boolean;
  readonly onDefaultBranch: boolean;
  readonly pullRequestNumber: number | null;
  readonly pullRequestUrl: string | null;
  readonly pullRequestTitle: string | null;
  readonly pullRequestBody: string | null;
  readonly tag: string | null;
  readonly senderUsername: string | null;
  readonly senderAvatarUrl: string | null;
  readonly senderHtmlUrl: string | null;
}

/** Null where the configuration was sent by hand. */
export function ingressOf<Row extends { readonly ingress: string | null }>({ ingress }: Row): Ingress | null {
  return ingress === null ? null : (JSON.parse(ingress) as Ingress);
}
