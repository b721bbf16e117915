/** The actor of a request: the person or machine that a bearer token authenticates. */

/** The latest expiry of the credentials that a token creates: its own, or null for no expiry. A token without a limit creates none. */
export type CredentialLimit = string | null;

export type Actor =
  /** A user, whose access is the sum over their teams. */
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
  /** An agent, by its pool's token; only the agent protocol accepts it. */
  | {
      readonly kind: "agent";
      readonly agentPoolId: string;
      readonly site: boolean;
      /** Null for a site pool. */
      readonly organizationId: string | null;
      readonly name: string;
      readonly tokenId: string;
    }
  /** A run, while one of its phases executes: it acts for its workspace, and reads the states that others share with it. */
  | {
      readonly kind: "run";
      readonly runId: string;
      readonly phaseId: string;
      readonly workspaceId: string;
      readonly organizationId: string;
      readonly name: string;
      readonly tokenId: string;
    }
  /** The operator, on the command line: a site admin without a token. */
  | { readonly kind: "operator" }
  /** The holder of a signed URL, who can do only what the URL was signed for. */
  | { readonly kind: "anonymous" };

/** The id by which an actor's grants are found: the user's, the team's, or that of a run's workspace. Empty for all others. */
export function principalOf(actor: Actor): string {
  if (actor.kind === "user") return actor.userId;
  if (actor.kind === "team") return actor.teamId;
  if (actor.kind === "run") return actor.workspaceId;
  return "";
}

/** The token age of a session that began with a password or single sign-on: below every limit that an organization can set. */
export const interactiveSessionAge = -1;

/** Whether the user signed in with a password or single sign-on, not with a token or a session that a token began. */
export function isInteractiveSession(actor: Actor): boolean {
  return actor.kind === "user" && actor.tokenAgeMs === interactiveSessionAge;
}

export function isSiteAdmin(actor: Actor): boolean {
  return actor.kind === "operator" || (actor.kind === "user" && actor.siteAdmin);
}

/** The actor's permanent id, for the audit log and for the creator of a token. */
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
