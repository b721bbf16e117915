/** Pure rules of invitations. */
import { authorize, type Granted } from "../../../access/granted.ts";
import type { InvitationTable, UserTable } from "../../../database/schema/identity.ts";
import { AppError } from "../../../kernel/errors.ts";
import { invitationHash, newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import type { InvitationView } from "./definition.ts";

const validDays = 7;
const dayMs = 86_400_000;

export type InvitationTarget = Pick<InvitationTable, "organizationId" | "membershipId" | "userId">;

export function newInvitation(
  destination: InvitationTarget,
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
    expiresAt: new Date(Date.parse(createdAt) + validDays * dayMs).toISOString(),
  };
}

export const invitationUrl = ({ publicUrl }: Pick<ServiceOptions, "publicUrl">, secret: string): string =>
  `${publicUrl}/app/invitations/${secret}`;

export interface OpenInvitation extends InvitationTarget {
  readonly id: string;
  readonly organizationName: string | null;
  readonly email: string;
  readonly confirmsEmail: number;
  readonly holderId: string | null;
  readonly username: string | null;
  readonly hasPassword: number;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export type AcceptableInvitation = Granted<OpenInvitation, "can-accept">;

/** The link itself is the permission. The error must not reveal why a link doesn't work. Throws `not-found`. */
export function authorizeInvitation(found: OpenInvitation | undefined): AcceptableInvitation {
  if (found === undefined)
    throw new AppError(
      "not-found",
      "This invitation link is not valid: it was used, replaced or revoked, has expired, or never existed. Ask the person who sent it for a new link.",
    );
  return authorize(found, {
    thing: "invitation",
    permission: "can-accept",
    visible: true,
    allowed: true,
    needs: "a link",
  });
}

/** Proof that the link is for this user; a user created with the link matches by email address. Throws `forbidden`. */
export function authorizeInvitedUser(
  invitation: AcceptableInvitation,
  user: UserTable,
): Granted<UserTable, "can-accept"> {
  const { userId, email } = invitation;
  const allowed = userId === null ? user.email === email : user.id === userId;
  return authorize(user, {
    thing: "user",
    permission: "can-accept",
    visible: true,
    allowed,
    needs: "a link to this user",
  });
}

export function toInvitationView(
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
