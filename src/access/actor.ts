/** The actor of a request: the person or machine that a bearer token authenticates. */

/**
 * The token's own expiry, which no credential that it creates outlives; null for none. A token without the member creates no
 * credentials.
 */
export type CredentialLimit = string | null;

export type Actor =
  | {
      readonly kind: "user";
      readonly userId: string;
      readonly name: string;
      readonly siteAdmin: boolean;
      readonly tokenId: string;
      /** The token's age, which organizations can limit; `interactiveSessionAge` for a session. */
      readonly tokenAgeMs: number;
    }
  | {
      readonly kind: "team";
      readonly teamId: string;
      readonly name: string;
      readonly organizationId: string;
      readonly tokenId: string;
      readonly credentialsUntil?: CredentialLimit;
    }
  /** An organization token: has an owner's access, but does not operate runs. */
  | {
      readonly kind: "organization";
      readonly organizationId: string;
      readonly name: string;
      readonly tokenId: string;
      readonly credentialsUntil?: CredentialLimit;
    }
  /** A token that reads one organization's audit log and nothing else. */
  | { readonly kind: "audit-trails"; readonly auditedId: string; readonly name: string; readonly tokenId: string }
  /** Only the agent protocol accepts it. */
  | {
      readonly kind: "agent";
      readonly agentPoolId: string;
      readonly site: boolean;
      /** Null for a site pool. */
      readonly organizationId: string | null;
      readonly name: string;
      readonly tokenId: string;
    }
  /** While one of its phases executes: it acts for its workspace, and reads the states that others share with it. */
  | {
      readonly kind: "run";
      readonly runId: string;
      readonly phaseId: string;
      readonly workspaceId: string;
      readonly organizationId: string;
      readonly name: string;
      readonly tokenId: string;
    }
  /** On the command line: a site admin without a token. */
  | { readonly kind: "operator" }
  /** The holder of a signed URL, who can do only what the URL was signed for. */
  | { readonly kind: "anonymous" };

/** The id by which grants are found; empty for actors without grants of their own. */
export function principalOf(actor: Actor): string {
  if (actor.kind === "user") return actor.userId;
  if (actor.kind === "team") return actor.teamId;
  if (actor.kind === "run") return actor.workspaceId;
  return "";
}

/** The token age of a session that began with a password or single sign-on: below every limit that an organization can set. */
export const interactiveSessionAge = -1;

export function isInteractiveSession(actor: Actor): boolean {
  return actor.kind === "user" && actor.tokenAgeMs === interactiveSessionAge;
}

export function isSiteAdmin(actor: Actor): boolean {
  return actor.kind === "operator" || (actor.kind === "user" && actor.siteAdmin);
}

/** Permanent, unlike the name. */
export function actorId(actor: Actor): string {
  if (actor.kind === "organization") return actor.organizationId;
  if (actor.kind === "audit-trails") return actor.tokenId;
  if (actor.kind === "agent") return actor.agentPoolId;
  if (actor.kind === "run") return actor.runId;
  return "tokenId" in actor ? principalOf(actor) : actor.kind;
}

export function actorName(actor: Actor): string {
  return "tokenId" in actor ? actor.name : actor.kind;
}

export function tokenIdOf(actor: Actor): string | null {
  return "tokenId" in actor ? actor.tokenId : null;
}

/** The organization whose audit log this token reads; requests for it don't name one. */
export function auditedOrganizationName(actor: Actor): string | undefined {
  return actor.kind === "audit-trails" || actor.kind === "organization" ? actor.name : undefined;
}
