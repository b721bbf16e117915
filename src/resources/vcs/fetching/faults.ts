/** Why something could not be fetched: a sentence for whoever connected the repository. */

export class FetchFault extends Error {
  override readonly name = "FetchFault";
  /** A word for machines. */
  readonly word: string;
  /** Whether trying again is of no use. */
  readonly isFinal: boolean;

  constructor(word: string, sentence: string, { isFinal = false } = {}) {
    super(sentence);
    this.word = word;
    this.isFinal = isFinal;
  }
}

const known: readonly (readonly [RegExp, string, string])[] = [
  [
    /Authentication failed|could not read (Username|Password)|HTTP Basic: Access denied|error: 40[13]/i,
    "unauthorized",
    "the provider refuses the connection's token; give the OAuth client another",
  ],
  [/Permission denied \(publickey/i, "unauthorized", "the provider refuses the connection's SSH key"],
  [
    /Host key verification failed/i,
    "unknown_host",
    "the provider's SSH host key is not among those in CADASTRE_SSH_KNOWN_HOSTS",
  ],
  [
    /not found|does not exist|does not appear to be a git repository|error: 404/i,
    "not_found",
    "there is no such repository, branch or commit, or the connection may not read it",
  ],
  [
    /not our ref|unadvertised object|couldn't find remote ref|no such remote ref|invalid refspec/i,
    "not_found",
    "the commit is not there, or not any more",
  ],
  [/transport '?(\w*)'? not allowed/i, "protocol", "only https and ssh are used to fetch"],
  [/File size limit exceeded|Out of memory|File too large/i, "too_large", "the repository is too large"],
];

/** What git says, in our words where they are known; never an address with a secret in it, for none ever has one. */
export function faultOf(said: string): FetchFault {
  for (const [pattern, word, sentence] of known) if (pattern.test(said)) return new FetchFault(word, sentence);
  const lines = said.split("\n").map((line) => line.trim());
  const last =
    lines.findLast((line) => /^(fatal|error|remote|ssh):?/i.test(line)) ?? lines.findLast((line) => line !== "");
  return new FetchFault("fetch_failed", `git says: ${(last ?? "nothing").slice(0, 300)}`);
}
