/** Who makes a request: what a bearer token stands for. */

/** Until when credentials may work that a token creates: as long as itself, null for no end. A token without a limit creates none. */
export type CredentialLimit = string | null;

export type Actor =
  /** A person. What a person may do is the sum over that person's teams. */
  | {
      readonly kind: "user";
      readonly userId: string;
      readonly name: string;
      readonly siteAdmin: boolean;
      readonly tokenId: string;
      /** How long ago the token was made: an organization may refuse those that are too old. `ageInPerson` where there is none. */
      readonly tokenAgeMs: number;
    }
  /** A team, by its own token. */
  | {
      readonly kind: "team";
      readonly teamId: string;
      readonly name: string;
      readonly organizationId: string;
      readonly tokenId: string;
      readonly credentialsUntil?: CredentialLimit;
    }
  /** An organization, by its own token: an owner, but not someone who runs things. */
  | {
      readonly kind: "organization";
      readonly organizationId: string;
      readonly name: string;
      readonly tokenId: string;
      readonly credentialsUntil?: CredentialLimit;
    }
  /** Whoever was given nothing but an organization's audit trail to read: a stranger to everything else. */
  | { readonly kind: "audit-trails"; readonly auditedId: string; readonly name: string; readonly tokenId: string }
  /** An agent, by the token of its pool: somebody to the protocol of agents alone. */
  | {
      readonly kind: "agent";
      /** Of an organization, or of the site. */
      readonly agentPoolId: string;
      readonly site: boolean;
      /** Null for a pool of the site. */
      readonly organizationId: string | null;
      /** The pool's. */
      readonly name: string;
      readonly tokenId: string;
    }
  /** A run while one of its phases is executed: it works for its workspace, and reads what others share with that. */
  | {
      readonly kind: "run";
      readonly runId: string;
      readonly phaseId: string;
      readonly workspaceId: string;
      readonly organizationId: string;
      readonly name: string;
      readonly tokenId: string;
    }
  /** The person at the machine, through the command line: a site admin without a token. */
  | { readonly kind: "operator" }
  /** Whoever holds a signed URL: nobody in particular, who may do nothing but what the URL was signed for. */
  | { readonly kind: "anonymous" };

/**
 * The id under which what an actor holds is found: a person is in teams, a team token is one. A run has none, but its workspace
 * has a state to write, and others share theirs with it.
 */
export function principalOf(actor: Actor): string {
  if (actor.kind === "user") return actor.userId;
  if (actor.kind === "team") return actor.teamId;
  if (actor.kind === "run") return actor.workspaceId;
  return "";
}

/** Organizations bound how long tokens work, and whether they do: who has signed in by a password or a provider is younger than any bound. */
export const ageInPerson = -1;

/** Whether a person has signed in by a password or a provider: neither by a token, nor by a session that a token began. */
export function isInPerson(actor: Actor): boolean {
  return actor.kind === "user" && actor.tokenAgeMs === ageInPerson;
}

export function isSiteAdmin(actor: Actor): boolean {
  return actor.kind === "operator" || (actor.kind === "user" && actor.siteAdmin);
}

/** What names the actor for good: in the audit trail, as the maker of a token. */
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

/** The name of the organization whose audit log a connector reads by this token: the request names none. */
export function auditedOrganization(actor: Actor): string | undefined {
  return actor.kind === "audit-trails" || actor.kind === "organization" ? actor.name : undefined;
}
