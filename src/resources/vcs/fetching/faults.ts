/** Why something could not be fetched: a sentence for whoever connected the repository. */
import { ForbiddenAddress, type OutgoingFault } from "../../../outgoing/request.ts";

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

/** What git prints, and what it means. `isFinal`: only a person can cure it, so another attempt would fail too. */
const known: readonly { said: RegExp; word: string; sentence: string; isFinal?: true }[] = [
  {
    said: /Authentication failed|could not read (Username|Password)|HTTP Basic: Access denied|error: 40[13]/i,
    word: "unauthorized",
    sentence: "the provider refuses the connection's token; give the OAuth client another",
    isFinal: true,
  },
  {
    said: /Permission denied \(publickey/i,
    word: "unauthorized",
    sentence: "the provider refuses the connection's SSH key",
    isFinal: true,
  },
  {
    said: /Host key verification failed/i,
    word: "unknown_host",
    sentence: "the provider's SSH host key is not among those in CADASTRE_SSH_KNOWN_HOSTS",
    isFinal: true,
  },
  {
    said: /couldn't find remote ref|no such remote ref|invalid refspec/i,
    word: "not_found",
    sentence: "the branch or tag does not exist, or not any more",
    isFinal: true,
  },
  {
    said: /not found|does not exist|does not appear to be a git repository|error: 404/i,
    word: "not_found",
    sentence: "there is no such repository, branch or commit, or the connection may not read it",
  },
  // A provider may announce a commit before all of its servers have it.
  {
    said: /not our ref|unadvertised object/i,
    word: "not_found",
    sentence: "the commit is not there, or not any more",
  },
  {
    said: /transport '?(\w*)'? not allowed/i,
    word: "protocol",
    sentence: "only https and ssh are used to fetch",
    isFinal: true,
  },
  {
    said: /File size limit exceeded|Out of memory|File too large/i,
    word: "too_large",
    sentence: "the repository is too large",
  },
];

/** An address that may not be called stays so; one that does not answer may later. */
export const addressFault = (error: OutgoingFault): FetchFault =>
  new FetchFault("address", error.message, { isFinal: error instanceof ForbiddenAddress });

/** What git says, in our words where they are known; never an address with a secret in it, for none ever has one. */
export function faultOf(said: string): FetchFault {
  const match = known.find((each) => each.said.test(said));
  if (match !== undefined) return new FetchFault(match.word, match.sentence, match);
  const lines = said.split("\n").map((line) => line.trim());
  const last =
    lines.findLast((line) => /^(fatal|error|remote|ssh):?/i.test(line)) ?? lines.findLast((line) => line !== "");
  return new FetchFault("fetch_failed", `git says: ${(last ?? "nothing").slice(0, 300)}`);
}
