/** `cadastre user …`: creates and lists users, in the database or over the API. */
import type { Tx } from "../database/database.ts";
import type { UserTable } from "../database/schema/identity.ts";
import type { CreateAttributes } from "../jsonapi/define.ts";
import { parseBody } from "../jsonapi/input.ts";
import { AppError } from "../kernel/errors.ts";
import { newPassword } from "../kernel/passwords.ts";
import { fold, quoted } from "../kernel/text.ts";
import { users } from "../resources/identity/users/definition.ts";
import { hashNewPassword, setPassword } from "../resources/identity/sessions/writes.ts";
import { flagOf, textOf, type WireResource } from "../moving/wire.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../resources/shared/administration.ts";
import { addUser } from "../resources/identity/users/writes.ts";
import { type Command, jsonOption, printRows } from "./command.ts";
import { readDatabase, databaseSettings, writeDatabase } from "./database.ts";
import { remoteDetails, remoteOf, remoteSettings } from "./remote.ts";

export const createUserCommand: Command = {
  name: "user create",
  summary: "Create a user",
  argument: { shape: "NAME", doc: "Username.", option: "username" },
  settings: databaseSettings,
  ownSettings: remoteSettings,
  options: {
    username: {
      shape: "NAME",
      doc: "Letters, numbers, dashes, underscores and dots; unique regardless of case.",
      required: true,
    },
    email: {
      shape: "ADDRESS",
      doc: "Email address; unique regardless of case. Pending invitations to it become memberships.",
      required: true,
    },
    "site-admin": { doc: "Make the user a site admin, who owns every organization and manages users." },
    ...jsonOption,
  },
  details: [
    "To give the user an API token, run 'cadastre token create NAME'; to let them sign in, 'cadastre user set-password NAME'.",
    remoteDetails,
    "Example: cadastre user create grace --email grace@acme.example",
  ],
  async run(invocation) {
    const { terminal, value, isOn, settings } = invocation;
    const sent = { username: value("username"), email: value("email"), "is-site-admin": isOn("site-admin") };
    const attributes = parseAttributes(sent);
    const remote = remoteOf(invocation);
    const user =
      remote === undefined
        ? toRow(await writeDatabase(settings(), (tx, context) => addUser(tx, context, attributes)))
        : rowOf(await remote.create("/admin/users", users.type, sent));
    if (isOn("json")) terminal.out(JSON.stringify(user, null, 2));
    else terminal.out(`Created user ${user.username} (${user.id})${user["is-site-admin"] ? ", a site admin" : ""}.`);
  },
};

export const setPasswordCommand: Command = {
  name: "user set-password",
  summary: "Set a new password for a user",
  argument: { shape: "NAME", doc: "Username or user id.", option: "user" },
  settings: databaseSettings,
  options: {
    user: { shape: "NAME", doc: "Same as the argument NAME.", required: true },
  },
  details: [
    "Generates a password and prints it once. Ends all sessions of the user; tokens keep working.",
    "Example: cadastre user set-password grace",
  ],
  async run({ terminal, value, settings }) {
    const password = await hashNewPassword(newPassword());
    const username = await writeDatabase(settings(), async (tx, context) => {
      const { id } = await findUserNamed(tx, value("user") ?? "");
      const user = await tx.db.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
      await setPassword(tx, context, withSiteAdminProof(requireSiteAdmin(context.actor), user), password);
      return user.username;
    });
    terminal.out(`New password for ${username} (shown only once):\n\n  ${password.password}`);
  },
};

export const listUsersCommand: Command = {
  name: "user list",
  summary: "List all users",
  settings: databaseSettings,
  ownSettings: remoteSettings,
  options: jsonOption,
  details: [remoteDetails, "Example: cadastre user list --json"],
  async run(invocation) {
    const { terminal, isOn, settings } = invocation;
    const remote = remoteOf(invocation);
    const rows =
      remote === undefined
        ? (await readDatabase(settings(), listUsers)).map(toRow)
        : (await remote.list("/admin/users")).map(rowOf);
    printRows(terminal, rows, { json: isOn("json"), empty: "There are no users." });
  },
};

const listUsers = (tx: Tx) => tx.db.selectFrom("users").selectAll().orderBy("usernameKey").execute();

/** Throws `not-found`. */
export async function findUserNamed(tx: Tx, nameOrId: string): Promise<Pick<UserTable, "id" | "username">> {
  const user = await tx.db
    .selectFrom("users")
    .select(["id", "username"])
    .where((where) => where.or([where("usernameKey", "=", fold(nameOrId)), where("id", "=", nameOrId)]))
    .executeTakeFirst();
  if (user === undefined)
    throw new AppError("not-found", `There is no user ${quoted(nameOrId)}. Run 'cadastre user list' to see all users.`);
  return user;
}

function parseAttributes(attributes: Record<string, unknown>): CreateAttributes<typeof users> {
  const body = parseBody(users, "create", { data: { type: users.type, attributes } });
  return (body as { attributes: CreateAttributes<typeof users> }).attributes;
}

function toRow(user: UserTable) {
  return {
    id: user.id,
    username: user.username,
    email: user.email,
    "is-site-admin": user.isSiteAdmin === 1,
    "created-at": user.createdAt,
  };
}

function rowOf(user: WireResource): ReturnType<typeof toRow> {
  return {
    id: user.id,
    username: textOf(user, "username") ?? "",
    email: textOf(user, "email") ?? "",
    "is-site-admin": flagOf(user, "is-site-admin"),
    "created-at": textOf(user, "created-at") ?? "",
  };
}
