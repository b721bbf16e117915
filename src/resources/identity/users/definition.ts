/** A user: a person, or a service that signs in like one. */
import { z } from "zod";
import type { UserTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import { passwordLengthMax } from "../../../kernel/passwords.ts";
import { email } from "../organizations/definition.ts";

export interface UserView extends Omit<UserTable, "usernameKey" | "emailKey" | "managedById"> {
  /** Whether the caller may see the address: the person itself and site admins may. */
  readonly showsEmail: boolean;
  readonly permissions: Readonly<Record<(typeof userPermissionNames)[number], boolean>>;
  /** Nobody yet: it stands for a person who is invited to an organization, and is found beside the invitation only. */
  readonly isInvited?: true;
}

const userPermissionNames = [
  "can-create-organizations",
  "can-change-email",
  "can-change-username",
  "can-manage-user-tokens",
] as const;

/** What stands for the person in an invitation until there is a user: made from the membership's id, so it is always the same. */
export const invitedUserId = (membershipId: string): string => membershipId.replace(/^ou-/, "user-");

/** The membership whose invited person this would stand for. */
export const invitedMembershipId = (userId: string): string => userId.replace(/^user-/, "ou-");

export const username = text({
  min: 1,
  max: 60,
  pattern: /^[A-Za-z0-9_.-]+$/,
  sentence: "may only contain letters, numbers, dashes, underscores and dots",
}).refine((value) => !looksLikeUserId(value), { error: "can't have the form of a user's id" });

const listQuery = {
  paged: true,
  parameters: { q: searchParameter("the name or email address") },
} as const;

const typed = text({ max: passwordLengthMax });

/** Spelled as the public API spells it. */
const passwordChange = z.object({
  data: z.object({
    attributes: z.object({
      current_password: typed.default(""),
      password: text({ min: 1, max: passwordLengthMax }),
      password_confirmation: text({ min: 1, max: passwordLengthMax }),
    }),
  }),
});

export const users = defineResource<UserView>()(({ required, optional, readOnly, toMany }) => ({
  type: "users",
  doc: "A person, or a service that signs in like one.",
  id: (user) => user.id,
  version: (user) => user.version,
  attributes: {
    username: required(username, "Unique in the register, ignoring case; empty for somebody who is only invited.", {
      folded: true,
    }),
    email: required(email, "Unique in the register, ignoring case. Shown to the person and to site admins.", {
      from: (user) => (user.showsEmail ? user.email : undefined),
      folded: true,
    }),
    "unconfirmed-email": readOnly(
      text().nullable(),
      "An address that the user asked for; a site admin confirms it by setting it.",
      {
        from: (user) => (user.showsEmail ? user.unconfirmedEmail : undefined),
      },
    ),
    password: optional(
      text({ min: 1, max: passwordLengthMax }),
      "What the user signs in with; only site admins set it here, and it is never shown. Setting it ends the user's sessions.",
      { column: false, shown: false, audited: false },
    ),
    "is-site-admin": optional(
      flag(),
      "Whether the user owns every organization and manages users. Only site admins set it.",
      { default: false },
    ),
    "is-admin": readOnly(flag(), "The same as is-site-admin.", {
      from: (user) => user.isSiteAdmin === 1,
      audited: false,
    }),
    "is-service-account": readOnly(flag(), "Whether it stands for a team's or an organization's token."),
    "avatar-url": readOnly(text(), "A picture in one colour, the same for ever; it is in the URL, on no host.", {
      from: (user) => avatarOf(user.id),
      audited: false,
    }),
    "v2-only": readOnly(flag(), "Always true.", { from: () => true, audited: false }),
    "two-factor": readOnly(flags(["enabled", "verified"]), "There is no second factor.", {
      from: () => ({ enabled: false, verified: false }),
      audited: false,
    }),
    "auth-method": readOnly(oneOf(["token"]), "How the user signs in.", { from: () => "token", audited: false }),
    permissions: readOnly(flags(userPermissionNames), "What the caller may do.", { audited: false }),
    "created-at": readOnly(timestamp(), "When the user was added."),
  },
  relationships: {
    "authentication-tokens": toMany("authentication-tokens", "The user's tokens.", {
      related: (user) =>
        user.isServiceAccount || user.isInvited ? undefined : `/api/v2/users/${user.id}/authentication-tokens`,
    }),
  },
  links: (user) => (user.isInvited ? undefined : { self: `/api/v2/users/${user.id}` }),
  operations: {
    showAccount: {
      method: "GET",
      path: "/account/details",
      summary: "Show who the token stands for",
      needs: "any token",
      answer: "document",
    },
    updateAccount: {
      method: "PATCH",
      path: "/account/update",
      summary: "Change the caller's own name, or ask for another address",
      needs: "a user's token",
      body: "update",
      answer: "document",
      example: { data: { type: "users", attributes: { username: "ada" } } },
    },
    changePassword: {
      method: "PATCH",
      path: "/account/password",
      summary:
        "Change the caller's own password; all of the caller's sessions end, and a new one begins where it came by one",
      needs: "a user's token or session, and the present password where there is one",
      body: { custom: passwordChange },
      answer: "document",
      example: {
        data: {
          type: "users",
          attributes: {
            current_password: "correct horse battery",
            password: "staple horse correct battery",
            password_confirmation: "staple horse correct battery",
          },
        },
      },
    },
    showUser: {
      method: "GET",
      path: "/users/:user_id",
      summary: "Show a user",
      needs: "the user, someone who shares an organization with the user, or a site admin",
      answer: "document",
    },
    listUsers: {
      method: "GET",
      path: "/admin/users",
      summary: "List all users of the register",
      needs: "a site admin",
      query: listQuery,
      answer: "list",
    },
    createUser: {
      method: "POST",
      path: "/admin/users",
      summary: "Add a user; invitations to the address become memberships",
      needs: "a site admin",
      body: "create",
      answer: "created",
      example: { data: { type: "users", attributes: { username: "grace", email: "grace@acme.example" } } },
    },
    updateUser: {
      method: "PATCH",
      path: "/admin/users/:user_id",
      summary: "Change a user, or make one a site admin",
      needs: "a site admin",
      body: "update",
      answer: "document",
      example: { data: { type: "users", attributes: { "is-site-admin": true } } },
    },
    deleteUser: {
      method: "DELETE",
      path: "/admin/users/:user_id",
      summary: "Remove a user with all tokens and memberships",
      needs: "a site admin; not the last one, nor the last owner of an organization",
      answer: "nothing",
    },
  },
}));

/** The same for the same id, for ever: a square in one colour, as a `data:` URL. */
function avatarOf(id: string): string {
  const hue = [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 0);
  const fill = `hsl(${hue},55%,45%)`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path fill="${fill}" d="M0 0h1v1H0z"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(picture)}`;
}
