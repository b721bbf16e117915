/** The actor of a request: the person or machine that a bearer token authenticates. */

/** The latest expiry of credentials that a token creates; null for any. Where it is absent, the token creates none. */
export type CredentialLimit = string | null;

export type Actor =
  | {
      readonly kind: "user";
      readonly userId: string;
      readonly name: string;
      readonly siteAdmin: boolean;
      readonly tokenId: string;
      /** `interactiveSessionAge` for a session. */
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
  /** Has an owner's access, but does not operate runs. */
  | {
      readonly kind: "organization";
      readonly organizationId: string;
      readonly name: string;
      readonly tokenId: string;
      readonly credentialsUntil?: CredentialLimit;
    }
  /** Reads one organization's audit log and nothing else. */
  | {
      readonly kind: "audit-trails";
      readonly auditedOrganizationId: string;
      readonly name: string;
      readonly tokenId: string;
    }
  /** Only the agent protocol accepts it. */
  | {
      readonly kind: "agent";
      readonly agentPoolId: string;
      readonly site: boolean;
      readonly organizationId: string | null;
      readonly name: string;
      readonly tokenId: string;
    }
  /** Acts for its workspace while a phase executes, and reads the states that others share with it. */
  | {
      readonly kind: "run";
      readonly runId: string;
      readonly phaseId: string;
      readonly workspaceId: string;
      readonly organizationId: string;
      readonly name: string;
      readonly tokenId: string;
    }
  /** A site admin without a token, on the command line. */
  | { readonly kind: "operator" }
  /** A caller without a token: a public operation or a signed URL. Has no permissions. */
  | { readonly kind: "anonymous" };

/** Empty for actors without grants of their own. */
export function principalOf(actor: Actor): string {
  if (actor.kind === "user") return actor.userId;
  if (actor.kind === "team") return actor.teamId;
  if (actor.kind === "run") return actor.workspaceId;
  return "";
}

/** For a session that began with a password or single sign-on: below every limit that an organization can set. */
export const interactiveSessionAge = -1;

export function isInteractiveSession(actor: Actor): boolean {
  return actor.kind === "user" && actor.tokenAgeMs === interactiveSessionAge;
}

export function isSiteAdmin(actor: Actor): boolean {
  return actor.kind === "operator" || (actor.kind === "user" && actor.siteAdmin);
}

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

/** Null also for an actor whose changes are executed without a request of its own. */
export function tokenIdOf(actor: Actor): string | null {
  return "tokenId" in actor && actor.tokenId !== "" ? actor.tokenId : null;
}

/** Requests for the audit log don't name the organization. */
export function auditedOrganizationName(actor: Actor): string | undefined {
  return actor.kind === "audit-trails" || actor.kind === "organization" ? actor.name : undefined;
}
