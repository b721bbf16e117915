/** Signing keys and claims of workload identity tokens. Pure, except for key generation. */
import { generateKeyPair, type KeyObject, randomUUID, sign } from "node:crypto";
import { promisify } from "node:util";

/** A replaced key stays published for this long. */
export const identityLifeMaxMs = 7 * 24 * 3_600_000;

const keyBits = 2048;
const generateKeys = promisify(generateKeyPair);

export const generateSigningKeys = (): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> =>
  generateKeys("rsa", { modulusLength: keyBits });

export const toJwk = (publicKey: KeyObject, kid: string): object => {
  const { kty, n, e } = publicKey.export({ format: "jwk" });
  return { kty, n, e, alg: "RS256", use: "sig", kid };
};

export const privateKeyOwner = (id: string): string => `identity_keys/${id}/private_key`;

/** `keys` are newest first: each was replaced by the one before it. */
export function publishableKeys<Key extends { readonly createdAt: string }>(
  keys: readonly Key[],
  nowMs: number,
): Key[] {
  return keys.filter((_, index) => {
    const successor = keys[index - 1];
    return successor === undefined || Date.parse(successor.createdAt) + identityLifeMaxMs > nowMs;
  });
}

export interface IdentityFacts {
  readonly issuer: string;
  readonly organization: { readonly id: string; readonly name: string };
  readonly project: { readonly id: string; readonly name: string };
  readonly workspace: { readonly id: string; readonly name: string };
  readonly runId: string;
  readonly phase: "plan" | "apply";
  readonly timeoutSeconds: number;
}

/** Names can't contain a colon, so `sub` is unambiguous. */
export function claimsOf(facts: IdentityFacts, audience: string, nowMs: number): object {
  const { issuer, organization, project, workspace, runId, phase, timeoutSeconds } = facts;
  const issuedAt = Math.floor(nowMs / 1000);
  const fullWorkspace = `organization:${organization.name}:project:${project.name}:workspace:${workspace.name}`;
  return {
    jti: randomUUID(),
    iss: issuer,
    aud: audience,
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + Math.min(timeoutSeconds, identityLifeMaxMs / 1000),
    sub: `${fullWorkspace}:run_phase:${phase}`,
    terraform_organization_id: organization.id,
    terraform_organization_name: organization.name,
    terraform_project_id: project.id,
    terraform_project_name: project.name,
    terraform_workspace_id: workspace.id,
    terraform_workspace_name: workspace.name,
    terraform_full_workspace: fullWorkspace,
    terraform_run_id: runId,
    terraform_run_phase: phase,
  };
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export function signedToken(privateKey: KeyObject, kid: string, claims: object): string {
  const text = `${encoded({ alg: "RS256", typ: "JWT", kid })}.${encoded(claims)}`;
  return `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`;
}

const audienceVariable = /^TFC_WORKLOAD_IDENTITY_AUDIENCE(?:_([A-Za-z0-9_]+))?$/;

export function requestedIdentities(
  variables: readonly { readonly key: string; readonly value: string; readonly category: string }[],
): { readonly name: string; readonly audience: string }[] {
  return variables.flatMap(({ key, value, category }) => {
    const match = category === "env" ? audienceVariable.exec(key) : null;
    if (match === null || value === "") return [];
    return [{ name: ["TFC_WORKLOAD_IDENTITY_TOKEN", match[1]].filter(Boolean).join("_"), audience: value }];
  });
}

export const claimNames: readonly string[] = [
  "sub",
  "aud",
  "exp",
  "iat",
  "iss",
  "jti",
  "nbf",
  "terraform_full_workspace",
  "terraform_organization_id",
  "terraform_organization_name",
  "terraform_project_id",
  "terraform_project_name",
  "terraform_run_id",
  "terraform_run_phase",
  "terraform_workspace_id",
  "terraform_workspace_name",
];
