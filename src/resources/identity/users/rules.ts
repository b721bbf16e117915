/** Pure rules of users. */
import { type Actor, isSiteAdmin } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import { invitedUserId, users, type UserView } from "./definition.ts";

export function newUser(attributes: CreateAttributes<typeof users>): UserTable {
  return {
    id: newId("users"),
    ...createdColumns(users, attributes),
    unconfirmedEmail: null,
    isServiceAccount: 0,
    managedById: null,
    createdAt: now(),
    version: 1,
  };
}

/** An address that a user chooses stays unconfirmed until a site admin sets it, because no mail verifies it. */
export function userChangesOf(
  attributes: UpdateAttributes<typeof users>,
  user: UserTable,
  bySiteAdmin: boolean,
): Partial<UserTable> {
  const { email, ...others } = attributes;
  if (email === undefined) return changedColumns(users, others);
  const isConfirmed = bySiteAdmin || email === user.email;
  return {
    ...changedColumns(users, isConfirmed ? attributes : others),
    unconfirmedEmail: isConfirmed ? null : email,
    // A site admin vouches for the address.
    ...(bySiteAdmin && { managedById: null }),
  };
}

export function takenFaults(taken: { username: boolean; email: boolean }): Fault[] {
  return (["username", "email"] as const)
    .filter((name) => taken[name])
    .map((name) => attributeFault(name, `${name === "email" ? "Email" : "Username"} has already been taken`));
}

export function toUserView(actor: Actor, user: UserTable, options: ServiceOptions): UserView {
  const isSelf = actor.kind === "user" && actor.userId === user.id;
  const isAdmin = isSiteAdmin(actor);
  return {
    ...user,
    showsEmail: isSelf || isAdmin,
    permissions: {
      "can-create-organizations": isSelf && (isAdmin || options.organizationCreation === "anyone"),
      "can-change-email": isSelf || isAdmin,
      "can-change-username": isSelf || isAdmin,
      "can-manage-user-tokens": isSelf || isAdmin,
    },
  };
}

/** Clients expect a user with every membership, so an invited person gets a placeholder that can't sign in. */
export function invitedUserView(membership: {
  readonly id: string;
  readonly email: string;
  readonly createdAt: string;
}): UserView {
  const { id, email, createdAt } = membership;
  return {
    id: invitedUserId(id),
    username: "",
    email,
    unconfirmedEmail: null,
    isSiteAdmin: 0,
    isServiceAccount: 0,
    createdAt,
    version: 1,
    showsEmail: true,
    isInvited: true,
    permissions: noPermissions,
  };
}

const noPermissions: UserView["permissions"] = {
  "can-create-organizations": false,
  "can-change-email": false,
  "can-change-username": false,
  "can-manage-user-tokens": false,
};

/** Clients request the account of team and organization tokens too. */
export function serviceAccountView(actor: Exclude<Actor, { kind: "user" }>): UserView {
  const [id, name] =
    actor.kind === "team"
      ? [actor.teamId, `api-team-${actor.name}`]
      : actor.kind === "organization"
        ? [actor.organizationId, `api-org-${actor.name}`]
        : actor.kind === "audit-trails"
          ? [actor.auditedOrganizationId, `api-audit-trails-${actor.name}`]
          : ["operator", "operator"];
  return {
    id,
    username: name,
    email: "",
    unconfirmedEmail: null,
    isSiteAdmin: 0,
    isServiceAccount: 1,
    createdAt: new Date(0).toISOString(),
    version: 1,
    showsEmail: false,
    permissions: noPermissions,
  };
}

/** Throws `not-found` unless the caller is the user or a site admin. */
export function authorizeUser<Permission extends "can-update" | "can-destroy" | "can-manage-user-tokens">(
  actor: Actor,
  user: UserTable,
  permission: Permission,
): Granted<UserTable, Permission> {
  const isSelf = actor.kind === "user" && actor.userId === user.id;
  const allowed = isSiteAdmin(actor) || (isSelf && permission !== "can-destroy");
  return authorize(user, {
    thing: "user",
    permission,
    visible: allowed,
    allowed,
    needs: "to be that user, or a site admin",
  });
}
