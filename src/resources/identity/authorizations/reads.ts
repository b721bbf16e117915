/** What a program asks for by sending a browser here, and what may be wrong with it. Pure; nobody is redirected before it was asked. */

/** The one program there is, and the ports on which it waits for the answer. */
export const loginClient = { id: "terraform-cli", ports: [10_000, 10_010] } as const;

/** As the query has them, in camelCase. */
export interface Asked {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly responseType: string;
  readonly codeChallenge: string;
  readonly codeChallengeMethod: string;
  readonly state: string;
}

export interface AskedFault {
  readonly parameter: keyof Asked;
  /** Begins with a capital, and has no full stop. */
  readonly sentence: string;
}

/** A SHA-256 in base64url: 32 bytes. */
const challenge = /^[A-Za-z0-9_-]{43}$/;

const checks: Readonly<Record<keyof Asked, (value: string) => string | undefined>> = {
  clientId: (value) => (value === loginClient.id ? undefined : `Client id must be ${loginClient.id}`),
  redirectUri: (value) =>
    isOwnMachine(value)
      ? undefined
      : `Redirect uri must be http://localhost or http://127.0.0.1 with a port from ${loginClient.ports[0]} to ${loginClient.ports[1]}, and have no fragment`,
  responseType: (value) => (value === "code" ? undefined : "Response type must be code"),
  codeChallenge: (value) =>
    challenge.test(value) ? undefined : "Code challenge must be a SHA-256 in base64url, which has 43 characters",
  codeChallengeMethod: (value) => (value === "S256" ? undefined : "Code challenge method must be S256"),
  state: (value) => (value.length > 0 && value.length <= 1024 ? undefined : "State must have 1 to 1024 characters"),
};

export const askedNames = Object.keys(checks) as readonly (keyof Asked)[];

/** Of what was sent; what is missing is another matter. */
export function askedFaults(asked: Partial<Asked>): AskedFault[] {
  return askedNames.flatMap((parameter) => {
    const value = asked[parameter];
    const sentence = value === undefined ? undefined : checks[parameter](value);
    return sentence === undefined ? [] : [{ parameter, sentence }];
  });
}

/** A code goes to no other machine, whoever asks for it: there PKCE and the port are all that keeps it. */
function isOwnMachine(uri: string): boolean {
  // As it is written: a parser would mend what others then read in another way.
  const written =
    /^http:\/\/(?:localhost|127\.0\.0\.1):(\d{5})(?:[/?][\x21\x24-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7e]*)?$/.exec(uri);
  const port = Number(written?.[1]);
  return written !== null && URL.canParse(uri) && port >= loginClient.ports[0] && port <= loginClient.ports[1];
}

/** The program's address with the answer in its query, and the state by which it knows its question. */
export function answerUrl({ redirectUri, state }: Asked, answer: Readonly<Record<string, string>>): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...answer, state })) url.searchParams.set(name, value);
  return url.href;
}
