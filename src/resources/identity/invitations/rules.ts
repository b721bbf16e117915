/** Pure rules of invitations: for how long a link works, and what is said of one that does not. */
import { grant, type Granted } from "../../../access/granted.ts";
import type { InvitationTable, UserTable } from "../../../database/schema/identity.ts";
import { AppError } from "../../../kernel/errors.ts";
import { invitationHash, newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import type { InvitationView } from "./definition.ts";

const daysOpen = 7;
const dayMs = 86_400_000;

/** What a link is for: a membership that waits, or a user without a password. */
export type Destination = Pick<InvitationTable, "organizationId" | "membershipId" | "userId">;

export function newInvitation(
  destination: Destination,
  secret: string,
  { confirmsEmail, madeById }: { readonly confirmsEmail: boolean; readonly madeById: string },
): InvitationTable {
  const createdAt = now();
  return {
    id: newId("invitations"),
    hash: invitationHash(secret),
    ...destination,
    confirmsEmail: Number(confirmsEmail),
    madeById,
    createdAt,
    expiresAt: new Date(Date.parse(createdAt) + daysOpen * dayMs).toISOString(),
  };
}

export const invitationUrl = ({ publicUrl }: Pick<ServiceOptions, "publicUrl">, secret: string): string =>
  `${publicUrl}/app/invitations/${secret}`;

/** A link that still works. */
export interface OpenInvitation extends Destination {
  readonly id: string;
  readonly organizationName: string | null;
  readonly email: string;
  readonly confirmsEmail: number;
  /** The user who has the address, or whose password it sets. */
  readonly holderId: string | null;
  readonly username: string | null;
  readonly hasPassword: number;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export type Accepted = Granted<OpenInvitation, "can-accept">;

/** Whoever has the link may. Which of the reasons it is that a link does not work is nobody's business. Raises `not-found`. */
export function accepted(found: OpenInvitation | undefined): Accepted {
  if (found === undefined)
    throw new AppError(
      "not-found",
      "This invitation does not work: it was used, replaced or withdrawn, it has ended, or there never was such a one. Ask whoever gave you the link for a new one.",
    );
  return grant(found, { thing: "invitation", permission: "can-accept", visible: true, allowed: true, needs: "a link" });
}

/** The proof for the user whom the link is for: by id, or by address where the user was created with it. Raises `forbidden` for another. */
export function invitedUser(invitation: Accepted, user: UserTable): Granted<UserTable, "can-accept"> {
  const { userId, email } = invitation;
  const allowed = userId === null ? user.email === email : user.id === userId;
  return grant(user, { thing: "user", permission: "can-accept", visible: true, allowed, needs: "a link to this user" });
}

/** The name of somebody is only told where the link leads to that very user. */
export function shownInvitation(
  { userId, username, hasPassword, organizationName, ...invitation }: OpenInvitation,
  url?: string,
): InvitationView {
  return {
    ...invitation,
    organizationName: organizationName ?? undefined,
    username: userId === null ? null : username,
    hasPassword: hasPassword === 1,
    ...(url !== undefined && { url }),
  };
}
