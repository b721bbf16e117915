/** Identifiers (`prj-…`) and bearer tokens: how they are made, and how a token becomes the hash that is stored. */
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
  "vcs-events": "ve",
  "vcs-deliveries": "vd",
  "vcs-webhooks": "vw",
  "notification-configurations": "nc",
  "audit-webhooks": "aw",
  deliveries: "dlv",
} as const;

/** A new, unguessable, opaque identifier, with the prefix that says what it names. */
export function newId(type: keyof typeof idPrefixes): string {
  return `${idPrefixes[type]}-${randomText(idLength)}`;
}

/** Whether an id names such a thing, by its prefix. */
export function isIdOf(type: keyof typeof idPrefixes, id: string): boolean {
  return id.startsWith(`${idPrefixes[type]}-`);
}

/** Draws letters without bias: bytes past the last full alphabet are thrown away. */
function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    const byte = randomByte();
    if (byte < alphabet.length * 4) text += alphabet[byte % alphabet.length];
  }
  return text;
}

/** Drawn many at once: the system charges for the asking. Each is given out once and forgotten. */
const drawn = Buffer.alloc(4096);
let next = drawn.length;

function randomByte(): number {
  if (next === drawn.length) {
    randomFillSync(drawn);
    next = 0;
  }
  const byte = drawn[next] ?? 0;
  drawn[next++] = 0;
  return byte;
}

const tokenPrefix = "cadastre-";
const tokenBytes = 32;

/** No bearer token is longer than this; anything longer is refused before it is hashed or looked up. */
export const tokenLengthMax = 512;

export function newToken(): string {
  return tokenPrefix + randomBytes(tokenBytes).toString("base64url");
}

/** What two machines share, and nobody has to type. */
export const newSecret = (): string => randomBytes(tokenBytes).toString("base64url");

/** Of a session's secret. Another than a token's, so that neither can be used in the other's place. */
export const sessionHash = (secret: string): string => tokenHash(`session ${secret}`);

/** The same of the secret of a link, and of a code. */
export const invitationHash = (secret: string): string => tokenHash(`invitation ${secret}`);
export const codeHash = (secret: string): string => tokenHash(`code ${secret}`);

/** Tokens have 256 random bits, so a plain fast hash is enough to make the stored form useless to a thief. */
export function tokenHash(token: string): string {
  return hash("sha256", token);
}

/** People are put into teams by name or by id. What has the form of an id is one, so that no name can stand for another's. */
export const looksLikeUserId = (text: string): boolean => /^user-[A-Za-z0-9]{16}$/i.test(text);
