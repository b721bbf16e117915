/** The user resource: a person or a service account. */
import { z } from "zod";
import type { UserTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import { passwordLengthMax } from "../../../kernel/passwords.ts";
import { email } from "../organizations/definition.ts";

export interface UserView extends Omit<UserTable, "usernameKey" | "emailKey" | "managedById"> {
  readonly showsEmail: boolean;
  readonly permissions: Readonly<Record<(typeof userPermissionNames)[number], boolean>>;
  readonly isInvited?: true;
}

const userPermissionNames = [
  "can-create-organizations",
  "can-change-email",
  "can-change-username",
  "can-manage-user-tokens",
] as const;

export const invitedUserId = (membershipId: string): string => membershipId.replace(/^ou-/, "user-");

export const invitedMembershipId = (userId: string): string => userId.replace(/^user-/, "ou-");

export const username = text({
  min: 1,
  max: 60,
  pattern: /^[A-Za-z0-9_.-]+$/,
  sentence: "may only contain letters, numbers, dashes, underscores and dots",
}).refine((value) => !looksLikeUserId(value), { error: "can't look like a user id" });

const listQuery = {
  paged: true,
  parameters: { q: searchParameter("the name or email address") },
} as const;

const typedPassword = text({ max: passwordLengthMax });

const passwordChange = z.object({
  data: z.object({
    attributes: z.object({
      current_password: typedPassword.default(""),
      password: text({ min: 1, max: passwordLengthMax }),
      password_confirmation: text({ min: 1, max: passwordLengthMax }),
    }),
  }),
});

export const users = defineResource<UserView>()(({ required, optional, readOnly, toMany }) => ({
  type: "users",
  doc: "A person, or a service account.",
  id: (user) => user.id,
  version: (user) => user.version,
  attributes: {
    username: required(
      username,
      "The username, unique across the site, ignoring case. Empty for a person who is invited but has no account yet.",
      {
        folded: true,
      },
    ),
    email: required(
      email,
      "The email address, unique across the site, ignoring case. Only the user and site admins can see it.",
      {
        from: (user) => (user.showsEmail ? user.email : undefined),
        folded: true,
      },
    ),
    "unconfirmed-email": readOnly(
      text().nullable(),
      "A new email address that the user requested. A site admin confirms it by setting it as the user's email.",
      {
        from: (user) => (user.showsEmail ? user.unconfirmedEmail : undefined),
      },
    ),
    password: optional(
      text({ min: 1, max: passwordLengthMax }),
      "The password. Only site admins can set it here, and it is never shown. Setting it ends the user's sessions.",
      { column: false, shown: false, audited: false },
    ),
    "is-site-admin": optional(
      flag(),
      "Whether the user is a site admin, who owns every organization and manages users. Only site admins can set it.",
      { default: false },
    ),
    "is-admin": readOnly(flag(), "The same as `is-site-admin`.", {
      from: (user) => user.isSiteAdmin === 1,
      audited: false,
    }),
    "is-service-account": readOnly(flag(), "Whether the account represents a team token or an organization token."),
    "avatar-url": readOnly(text(), "A `data:` URL with a single-color picture that is always the same for this user.", {
      from: (user) => avatarOf(user.id),
      audited: false,
    }),
    "v2-only": readOnly(flag(), "Always true.", { from: () => true, audited: false }),
    "two-factor": readOnly(flags(["enabled", "verified"]), "Always false: there is no two-factor authentication.", {
      from: () => ({ enabled: false, verified: false }),
      audited: false,
    }),
    "auth-method": readOnly(oneOf(["token"]), "Always `token`.", { from: () => "token", audited: false }),
    permissions: readOnly(flags(userPermissionNames), "What the caller can do.", { audited: false }),
    "created-at": readOnly(timestamp(), "When the user was created."),
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
      summary: "Show the account that the token belongs to",
      needs: "any token",
      answer: "document",
    },
    updateAccount: {
      method: "PATCH",
      path: "/account/update",
      summary: "Update the caller's own username, or request a new email address",
      needs: "a user's token",
      body: "update",
      answer: "document",
      example: { data: { type: "users", attributes: { username: "ada" } } },
    },
    changePassword: {
      method: "PATCH",
      path: "/account/password",
      summary:
        "Change the caller's own password. This ends all of the caller's sessions; a caller who is signed in gets a new one",
      needs: "a user's token or session, and the current password if there is one",
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
      summary: "List all users",
      needs: "a site admin",
      query: listQuery,
      answer: "list",
    },
    createUser: {
      method: "POST",
      path: "/admin/users",
      summary: "Create a user; invitations to the email address become memberships",
      needs: "a site admin",
      body: "create",
      answer: "created",
      example: { data: { type: "users", attributes: { username: "grace", email: "grace@acme.example" } } },
    },
    updateUser: {
      method: "PATCH",
      path: "/admin/users/:user_id",
      summary: "Update a user, or make the user a site admin",
      needs: "a site admin",
      body: "update",
      answer: "document",
      example: { data: { type: "users", attributes: { "is-site-admin": true } } },
    },
    deleteUser: {
      method: "DELETE",
      path: "/admin/users/:user_id",
      summary: "Delete a user with all tokens and memberships",
      needs: "a site admin; the last site admin and the last owner of an organization can't be deleted",
      answer: "nothing",
    },
  },
}));

function avatarOf(id: string): string {
  const hue = [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 0);
  const fill = `hsl(${hue},55%,45%)`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path fill="${fill}" d="M0 0h1v1H0z"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(picture)}`;
}
