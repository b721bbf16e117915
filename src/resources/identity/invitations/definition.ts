/** An invitation: a link that somebody was given, by which they come in. Only whoever has the link knows of it. */
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { passwordLengthMax } from "../../../kernel/passwords.ts";
import { username } from "../users/definition.ts";

export interface InvitationView {
  readonly id: string;
  /** Undefined where it sets the password of a user, and leads to no organization. */
  readonly organizationName: string | undefined;
  readonly email: string;
  /** Of the user whose password it sets. */
  readonly username: string | null;
  readonly hasPassword: boolean;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Only in the answer to its creation. */
  readonly url?: string;
}

const taken = { column: false, audited: false } as const;
const whoever = "nobody in particular: whoever has the link";

export const invitations = defineResource<InvitationView>()(({ fixed, once, readOnly, toOne }) => ({
  type: "invitations",
  doc: "A link by which somebody comes in: to a membership, or to a user whose password it sets. It works once, for seven days.",
  id: (invitation) => invitation.id,
  hasExpiring: true,
  attributes: {
    username: fixed(
      username.nullable(),
      "What a new user is to be called: unique in the register, ignoring case. Shown where the link sets the password of a user who is there already.",
      { ...taken, from: (invitation) => invitation.username },
    ),
    password: once(text({ min: 1, max: passwordLengthMax }), "The password of the user.", { ...taken, shown: false }),
    email: readOnly(text(), "The address that the link was made for."),
    "has-password": readOnly(
      flag(),
      "Whether a user with this address has a password already: then that user signs in, and accepts. False where the link sets the password.",
    ),
    "created-at": readOnly(timestamp(), "When the link was made."),
    "expires-at": readOnly(timestamp(), "When it ends by itself."),
    "invitation-url": readOnly(text(), "The link: in the answer to its creation, and never again.", {
      from: (invitation) => invitation.url,
      audited: false,
    }),
  },
  relationships: {
    organization: toOne("organizations", "Where it leads to; none where it only sets a password.", {
      id: ({ organizationName }) => organizationName,
    }),
  },
  operations: {
    showInvitation: {
      method: "GET",
      path: "/invitations/:invitation_secret",
      summary: "Show what a link leads to",
      needs: whoever,
      open: true,
      answer: "document",
    },
    registerByInvitation: {
      method: "POST",
      path: "/invitations/:invitation_secret/actions/register",
      summary:
        "Become a user by a link, or set one's password, and sign in: the answer sets the cookie cadastre_session",
      needs: whoever,
      open: true,
      body: "create",
      answer: "created",
      answers: "sessions",
      example: {
        data: { type: "invitations", attributes: { username: "grace", password: "correct horse battery staple" } },
      },
    },
    acceptInvitation: {
      method: "POST",
      path: "/invitations/:invitation_secret/actions/accept",
      summary: "Become a member by a link, as the user that one is already",
      needs: "a user's session or token, and the link",
      answer: "document",
      answers: "organization-memberships",
    },
    createUserInvitation: {
      method: "POST",
      path: "/admin/users/:user_id/invitation",
      summary:
        "Make a link by which a user sets a password, also somebody who is locked out; the one before stops working",
      needs: "a site admin",
      answer: "created",
    },
  },
}));
