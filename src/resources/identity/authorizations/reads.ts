/** Validates a program's authorization request. Nobody may be redirected before that. Pure. */

export const loginClient = { id: "terraform-cli", ports: [10_000, 10_010] } as const;

export interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly responseType: string;
  readonly codeChallenge: string;
  readonly codeChallengeMethod: string;
  readonly state: string;
}

export interface AuthorizationRequestFault {
  readonly parameter: keyof AuthorizationRequest;
  /** Starts with a capital letter and has no full stop. */
  readonly sentence: string;
}

const challenge = /^[A-Za-z0-9_-]{43}$/;

const checks: Readonly<Record<keyof AuthorizationRequest, (value: string) => string | undefined>> = {
  clientId: (value) => (value === loginClient.id ? undefined : `Client id must be ${loginClient.id}`),
  redirectUri: (value) =>
    isLoopbackUri(value)
      ? undefined
      : `Redirect uri must be http://localhost or http://127.0.0.1 with a port from ${loginClient.ports[0]} to ${loginClient.ports[1]}, and have no fragment`,
  responseType: (value) => (value === "code" ? undefined : "Response type must be code"),
  codeChallenge: (value) =>
    challenge.test(value) ? undefined : "Code challenge must be a SHA-256 hash in base64url with 43 characters",
  codeChallengeMethod: (value) => (value === "S256" ? undefined : "Code challenge method must be S256"),
  state: (value) => (value.length > 0 && value.length <= 1024 ? undefined : "State must have 1 to 1024 characters"),
};

export const authorizationRequestNames = Object.keys(checks) as readonly (keyof AuthorizationRequest)[];

export function authorizationRequestFaults(request: Partial<AuthorizationRequest>): AuthorizationRequestFault[] {
  return authorizationRequestNames.flatMap((parameter) => {
    const value = request[parameter];
    const sentence = value === undefined ? undefined : checks[parameter](value);
    return sentence === undefined ? [] : [{ parameter, sentence }];
  });
}

/** A code must not be sent to another machine, where only PKCE would protect it. */
function isLoopbackUri(uri: string): boolean {
  // Matches the text itself, because URL parsers repair malformed URLs differently.
  const match =
    /^http:\/\/(?:localhost|127\.0\.0\.1):(\d{5})(?:[/?][\x21\x24-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7e]*)?$/.exec(uri);
  const port = Number(match?.[1]);
  return match !== null && URL.canParse(uri) && port >= loginClient.ports[0] && port <= loginClient.ports[1];
}

export function redirectUrlOf(
  { redirectUri, state }: AuthorizationRequest,
  answer: Readonly<Record<string, string>>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...answer, state })) url.searchParams.set(name, value);
  return url.href;
}
