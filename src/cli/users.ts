/** `cadastre user …`: adds and lists users under the same rules as the API. */
import type { Tx } from "../database/database.ts";
import type { UserTable } from "../database/schema/identity.ts";
import type { CreateAttributes } from "../jsonapi/define.ts";
import { parseBody } from "../jsonapi/input.ts";
import { AppError } from "../kernel/errors.ts";
import { newPassword } from "../kernel/passwords.ts";
import { fold, quoted } from "../kernel/text.ts";
import { users } from "../resources/identity/users/definition.ts";
import { newPasswordOf, setPassword } from "../resources/identity/sessions/writes.ts";
import { administered, requireSiteAdmin } from "../resources/shared/administration.ts";
import { addUser } from "../resources/identity/users/writes.ts";
import { type Command, jsonOption } from "./command.ts";
import { reading, registerSettings, writing } from "./register.ts";
import { printRows } from "./table.ts";

export const createUserCommand: Command = {
  name: "user create",
  summary: "Add a user",
  settings: registerSettings,
  options: {
    username: {
      shape: "NAME",
      doc: "Letters, numbers, dashes, underscores and dots; unique, ignoring case.",
      required: true,
    },
    email: { shape: "ADDRESS", doc: "Unique, ignoring case. Invitations to it become memberships.", required: true },
    "site-admin": { doc: "Let the user own every organization and manage users." },
    ...jsonOption,
  },
  details: [
    "Programs use a token: make one with 'cadastre token create --user NAME'. For a browser, 'cadastre user set-password --user NAME'.",
    "Example: cadastre user create --username grace --email grace@acme.example",
  ],
  async run({ terminal, value, isOn, settings }) {
    const attributes = checked({
      username: value("username"),
      email: value("email"),
      "is-site-admin": isOn("site-admin"),
    });
    const user = await writing(settings(), (tx, context) => addUser(tx, context, attributes));
    if (isOn("json")) terminal.out(JSON.stringify(toRow(user), null, 2));
    else terminal.out(`Added the user ${user.username} (${user.id})${user.isSiteAdmin ? ", a site admin" : ""}.`);
  },
};

export const setPasswordCommand: Command = {
  name: "user set-password",
  summary: "Give a user a new password, for signing in in a browser",
  settings: registerSettings,
  options: {
    user: { shape: "NAME", doc: "A username or a user's id.", required: true },
  },
  details: [
    "The password is made, and shown this once. All of the user's sessions end; tokens stay as they are.",
    "Example: cadastre user set-password --user grace",
  ],
  async run({ terminal, value, settings }) {
    const password = await newPasswordOf(newPassword());
    const username = await writing(settings(), async (tx, context) => {
      const { id } = await findUserNamed(tx, value("user") ?? "");
      const user = await tx.db.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
      await setPassword(tx, context, administered(requireSiteAdmin(context.actor), user), password);
      return user.username;
    });
    terminal.out(`The new password of ${username}, shown this once:\n\n  ${password.password}`);
  },
};

export const listUsersCommand: Command = {
  name: "user list",
  summary: "List all users",
  settings: registerSettings,
  options: jsonOption,
  details: ["Example: cadastre user list --json"],
  async run({ terminal, isOn, settings }) {
    const rows = await reading(settings(), (tx) =>
      tx.db.selectFrom("users").selectAll().orderBy("usernameKey").execute(),
    );
    printRows(terminal, rows.map(toRow), { json: isOn("json"), none: "There are no users." });
  },
};

/** By name, ignoring case, or by id. Raises `not-found`. */
export async function findUserNamed(tx: Tx, nameOrId: string): Promise<Pick<UserTable, "id" | "username">> {
  const user = await tx.db
    .selectFrom("users")
    .select(["id", "username"])
    .where((where) => where.or([where("usernameKey", "=", fold(nameOrId)), where("id", "=", nameOrId)]))
    .executeTakeFirst();
  if (user === undefined)
    throw new AppError("not-found", `There is no user ${quoted(nameOrId)}. 'cadastre user list' shows who there is.`);
  return user;
}

/** The API's own rules for the attributes. Raises `invalid` with every fault. */
function checked(attributes: Record<string, unknown>): CreateAttributes<typeof users> {
  const body = parseBody(users, "create", { data: { type: users.type, attributes } });
  return (body as { attributes: CreateAttributes<typeof users> }).attributes;
}

/** Named like the attributes of the API. */
function toRow(user: UserTable) {
  return {
    id: user.id,
    username: user.username,
    email: user.email,
    "is-site-admin": user.isSiteAdmin === 1,
    "created-at": user.createdAt,
  };
}
