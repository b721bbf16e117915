/** Creates identifiers and bearer tokens, and hashes tokens for storage. */
import { hash, randomBytes, randomFillSync } from "node:crypto";

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const idLength = 16;

export const idPrefixes = {
  organizations: "org",
  "organization-memberships": "ou",
  users: "user",
  teams: "team",
  "organization-token-ttl-policies": "ttl",
  "authentication-tokens": "at",
  sessions: "sess",
  invitations: "inv",
  authorizations: "authz",
  "identity-trusts": "idt",
  "sso-providers": "sso",
  projects: "prj",
  "team-projects": "tprj",
  "audit-events": "ae",
  workspaces: "ws",
  "team-workspaces": "tws",
  "ssh-keys": "sshkey",
  "agent-pools": "apool",
  "agent-tokens": "agt",
  "oauth-clients": "oc",
  "oauth-tokens": "ot",
  "terraform-versions": "tool",
  tags: "tag",
  "tag-bindings": "tb",
  "reserved-tag-keys": "rtk",
  "data-retention-policies": "drp",
  "state-versions": "sv",
  contents: "sc",
  "state-version-outputs": "wsout",
  resources: "wsr",
  vars: "var",
  varsets: "varset",
  "configuration-versions": "cv",
  "ingress-attributes": "ia",
  runs: "run",
  plans: "plan",
  applies: "apply",
  "run-events": "re",
  comments: "wsc",
  "run-triggers": "rt",
  agents: "agent",
  "assessment-results": "asmtres",
  "identity-keys": "idkey",
  "access-previews": "ap",
  "access-requests": "areq",
  "access-offers": "aoff",
  "access-rules": "arul",
  "access-violations": "avio",
  "vcs-events": "ve",
  "vcs-deliveries": "vd",
  "vcs-webhooks": "vw",
  "notification-configurations": "nc",
  "audit-webhooks": "aw",
  deliveries: "dlv",
} as const;

export function newId(type: keyof typeof idPrefixes): string {
  return `${idPrefixes[type]}-${randomText(idLength)}`;
}

export function isIdOf(type: keyof typeof idPrefixes, id: string): boolean {
  return id.startsWith(`${idPrefixes[type]}-`);
}

/** Discards bytes beyond the last full alphabet, so that no letter is more likely. */
function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    const byte = randomByte();
    if (byte < alphabet.length * 4) text += alphabet[byte % alphabet.length];
  }
  return text;
}

/** Filled in batches, because each call of the system's generator is expensive. Bytes are cleared when used. */
const randomPool = Buffer.alloc(4096);
let next = randomPool.length;

function randomByte(): number {
  if (next === randomPool.length) {
    randomFillSync(randomPool);
    next = 0;
  }
  const byte = randomPool[next] ?? 0;
  randomPool[next++] = 0;
  return byte;
}

const tokenPrefix = "cadastre-";
const tokenBytes = 32;

/** Refused before hashing or lookup. */
export const tokenLengthMax = 512;

export function newToken(): string {
  return tokenPrefix + randomBytes(tokenBytes).toString("base64url");
}

export const newSecret = (): string => randomBytes(tokenBytes).toString("base64url");

/** Prefixed, so that no secret can replace a token or a secret of another kind. */
export const sessionHash = (secret: string): string => tokenHash(`session ${secret}`);

export const invitationHash = (secret: string): string => tokenHash(`invitation ${secret}`);
export const codeHash = (secret: string): string => tokenHash(`code ${secret}`);

/** Tokens have 256 random bits, so a fast hash without a salt is enough. */
export function tokenHash(token: string): string {
  return hash("sha256", token);
}

/** A text with the form of an id is always an id, so that no user name can impersonate a user. */
export const looksLikeUserId = (text: string): boolean => /^user-[A-Za-z0-9]{16}$/i.test(text);
