/** The invitation resource: a single-use link for joining an organization or setting a password. Only link holders can see it. */
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { passwordLengthMax } from "../../../kernel/passwords.ts";
import { username } from "../users/definition.ts";

export interface InvitationView {
  readonly id: string;
  /** Undefined if the link sets the password of an existing user. */
  readonly organizationName: string | undefined;
  readonly email: string;
  readonly username: string | null;
  readonly hasPassword: boolean;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly url?: string;
}

const notStored = { column: false, audited: false } as const;
const linkHolder = "anyone who has the link";

export const invitations = defineResource<InvitationView>()(({ fixed, requiredFixed, readOnly, toOne }) => ({
  type: "invitations",
  doc: "A link to join an organization or to set a user's password. It can be used once and expires after seven days.",
  id: (invitation) => invitation.id,
  isUncacheable: true,
  attributes: {
    username: fixed(
      username.nullable(),
      "The username of a new user, unique across the site, ignoring case. If the link sets an existing user's password, it is that user's name.",
      { ...notStored, from: (invitation) => invitation.username },
    ),
    password: requiredFixed(text({ min: 1, max: passwordLengthMax }), "The user's password.", {
      ...notStored,
      shown: false,
    }),
    email: readOnly(text(), "The email address that the link was created for."),
    "has-password": readOnly(
      flag(),
      "Whether a user with this email address already has a password. That user signs in and accepts the invitation. False if the link sets the password.",
    ),
    "created-at": readOnly(timestamp(), "When the link was created."),
    "expires-at": readOnly(timestamp(), "When the link expires."),
    "invitation-url": readOnly(text(), "The link. It is shown only in the response that creates it.", {
      from: (invitation) => invitation.url,
      audited: false,
    }),
  },
  relationships: {
    organization: toOne("organizations", "The organization to join; none if the link only sets a password.", {
      id: ({ organizationName }) => organizationName,
    }),
  },
  operations: {
    showInvitation: {
      method: "GET",
      path: "/invitations/:invitation_secret",
      summary: "Show an invitation",
      needs: linkHolder,
      isPublic: true,
      answer: "document",
    },
    registerByInvitation: {
      method: "POST",
      path: "/invitations/:invitation_secret/actions/register",
      summary:
        "Create a user or set a password with an invitation link, and sign in. The response sets the cookie cadastre_session",
      needs: linkHolder,
      isPublic: true,
      body: "create",
      answer: "created",
      mayWarn: true,
      answerType: "sessions",
      example: {
        data: { type: "invitations", attributes: { username: "grace", password: "correct horse battery staple" } },
      },
    },
    acceptInvitation: {
      method: "POST",
      path: "/invitations/:invitation_secret/actions/accept",
      summary: "Accept an invitation as an existing user",
      needs: "a user's session or token, and the link",
      answer: "document",
      mayWarn: true,
      answerType: "organization-memberships",
    },
    createUserInvitation: {
      method: "POST",
      path: "/admin/users/:user_id/invitation",
      summary:
        "Create a link for a user to set a password, for example after they were locked out. The previous link stops working",
      needs: "a site admin",
      answer: "created",
    },
  },
}));
