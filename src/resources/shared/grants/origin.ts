/** Who gave a grant or a seat, and by which access request; for access rules, which are evaluated again later. */
import type { Context } from "../context.ts";

export interface GrantOrigin {
  readonly grantedById: string | null;
  readonly accessRequestId: string | null;
}

/** From the group of an identity provider, for example. */
export const unknownOrigin: GrantOrigin = { grantedById: null, accessRequestId: null };

export function originOf({ actor, accessRequestId }: Pick<Context, "actor" | "accessRequestId">): GrantOrigin {
  const grantedById = actor.kind === "user" ? actor.userId : actor.kind === "team" ? actor.teamId : null;
  return { grantedById, accessRequestId: accessRequestId ?? null };
}
