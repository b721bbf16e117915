/** Errors of fetching from a repository. Messages are shown to users who connect repositories. */
import { ForbiddenAddress, type OutgoingError } from "../../../outgoing/request.ts";

export class FetchFault extends Error {
  override readonly name = "FetchFault";
  readonly code: string;
  /** Whether a retry would fail too. */
  readonly isFinal: boolean;

  constructor(code: string, sentence: string, { isFinal = false } = {}) {
    super(sentence);
    this.code = code;
    this.isFinal = isFinal;
  }
}

const gitFaults: readonly { pattern: RegExp; code: string; sentence: string; isFinal?: true }[] = [
  {
    pattern: /Authentication failed|could not read (Username|Password)|HTTP Basic: Access denied|error: 40[13]/i,
    code: "unauthorized",
    sentence: "the provider refuses the connection's token; set another token on the OAuth client",
    isFinal: true,
  },
  {
    pattern: /Permission denied \(publickey/i,
    code: "unauthorized",
    sentence: "the provider refuses the connection's SSH key",
    isFinal: true,
  },
  {
    pattern: /Host key verification failed/i,
    code: "unknown_host",
    sentence: "the provider's SSH host key is not among those in CADASTRE_SSH_KNOWN_HOSTS",
    isFinal: true,
  },
  {
    pattern: /couldn't find remote ref|no such remote ref|invalid refspec/i,
    code: "not_found",
    sentence: "the branch or tag does not exist",
    isFinal: true,
  },
  {
    pattern: /not found|does not exist|does not appear to be a git repository|error: 404/i,
    code: "not_found",
    sentence: "the repository, branch or commit does not exist, or the connection can't read it",
  },
  // Not final: a provider may send a webhook before all of its servers have the commit.
  {
    pattern: /not our ref|unadvertised object/i,
    code: "not_found",
    sentence: "the commit does not exist",
  },
  {
    pattern: /transport '?(\w*)'? not allowed/i,
    code: "protocol",
    sentence: "repositories can only be fetched over https and ssh",
    isFinal: true,
  },
  {
    pattern: /File size limit exceeded|Out of memory|File too large/i,
    code: "too_large",
    sentence: "the repository is too large",
  },
];

/** An address that does not respond may do so later. */
export const addressFault = (error: OutgoingError): FetchFault =>
  new FetchFault("address", error.message, { isFinal: error instanceof ForbiddenAddress });

/** The output of git contains no secrets: they are never part of a URL or an argument. */
export function faultOf(output: string): FetchFault {
  const match = gitFaults.find((each) => each.pattern.test(output));
  if (match !== undefined) return new FetchFault(match.code, match.sentence, match);
  const lines = output.split("\n").map((line) => line.trim());
  const last =
    lines.findLast((line) => /^(fatal|error|remote|ssh):?/i.test(line)) ?? lines.findLast((line) => line !== "");
  return new FetchFault("fetch_failed", `git failed: ${(last ?? "no output").slice(0, 300)}`);
}
