/** `cadastre token …`: makes, lists and revokes tokens. A token's secret is printed once, when it is made. */
import type { Tx } from "../database/database.ts";
import type { ShownToken } from "../database/schema/identity.ts";
import { parseBody } from "../jsonapi/input.ts";
import { activityDurationMs, activityDurationPattern } from "../kernel/durations.ts";
import { AppError } from "../kernel/errors.ts";
import { fold, quoted } from "../kernel/text.ts";
import { authenticationTokens } from "../resources/identity/authentication-tokens/definition.ts";
import { addToken, type NewToken, removeToken } from "../resources/identity/authentication-tokens/writes.ts";
import { type Command, type Invocation, jsonOption, UsageError } from "./command.ts";
import { reading, registerSettings, writing } from "./register.ts";
import { printRows } from "./table.ts";
import { findUserNamed } from "./users.ts";

export const createTokenCommand: Command = {
  name: "token create",
  summary: "Make a token for a user, or for an organization's owners team",
  settings: registerSettings,
  options: {
    user: { shape: "NAME", doc: "Whose token it is: a username or a user's id." },
    "owners-of": {
      shape: "ORGANIZATION",
      doc: "Instead of --user: a token of this organization's owners team. The way back into an organization that refuses users' tokens.",
    },
    description: { shape: "TEXT", doc: "What it is for." },
    "expires-in": {
      shape: "DURATION",
      doc: "How long it works: 30d or 12h. For ever when neither this nor --expires-at is given.",
    },
    "expires-at": { shape: "TIMESTAMP", doc: "Until when it works: 2030-01-31T12:00:00Z." },
    ...jsonOption,
  },
  details: [
    "The token is printed this once: the register keeps only its hash.",
    "Example: cadastre token create --user grace --description laptop --expires-in 30d",
  ],
  async run(invocation) {
    const { terminal, value, isOn, settings } = invocation;
    const attributes = checked({
      description: value("description") ?? null,
      "expired-at": expiry(invocation) ?? null,
    });
    const [user, organization] = [value("user"), value("owners-of")];
    if ((user === undefined) === (organization === undefined))
      throw new UsageError("Say whose token it is: either --user or --owners-of.");
    const { token, name } = await writing(settings(), async (tx, context) => {
      const { holder, name } = await (user === undefined ? ownersOf(tx, organization ?? "") : personNamed(tx, user));
      return { token: await addToken(tx, context, { holder, isLegacy: false, ...attributes }), name };
    });
    if (isOn("json")) {
      terminal.out(JSON.stringify({ ...toRow({ ...token, holder: name }), token: token.secret }, null, 2));
      return;
    }
    const until = token.expiredAt === null ? "does not expire" : `works until ${token.expiredAt}`;
    terminal.out(`Made the token ${token.id} for ${name}; it ${until}. Shown this once:`);
    terminal.out(`\n  ${token.secret}\n`);
  },
};

interface Holder {
  readonly holder: NewToken["holder"];
  readonly name: string;
}

async function personNamed(tx: Tx, name: string): Promise<Holder> {
  const { id, username } = await findUserNamed(tx, name);
  return { holder: { kind: "user", userId: id }, name: username };
}

/** Raises `not-found`. */
async function ownersOf(tx: Tx, organization: string): Promise<Holder> {
  const team = await tx.db
    .selectFrom("teams as t")
    .innerJoin("organizations as o", "o.id", "t.organizationId")
    .select(["t.id as teamId", "t.organizationId", "o.name as organizationName"])
    .where("o.nameKey", "=", fold(organization))
    .where("t.isOwners", "=", 1)
    .executeTakeFirst();
  if (team === undefined) throw new AppError("not-found", `There is no organization ${quoted(organization)}.`);
  return { holder: { kind: "team", ...team }, name: `the owners of ${team.organizationName}` };
}

export const listTokensCommand: Command = {
  name: "token list",
  summary: "List tokens, newest first",
  settings: registerSettings,
  options: { user: { shape: "NAME", doc: "Only this user's: a username or a user's id." }, ...jsonOption },
  details: [
    "Without --user it lists the tokens of users, teams and organizations.",
    "Example: cadastre token list --user grace",
  ],
  async run({ terminal, value, isOn, settings }) {
    const rows = await reading(settings(), async (tx) => {
      const name = value("user");
      return listHeldTokens(tx, name === undefined ? undefined : (await findUserNamed(tx, name)).id);
    });
    printRows(terminal, rows.map(toRow), { json: isOn("json"), none: "There are no tokens." });
  },
};

export const revokeTokenCommand: Command = {
  name: "token revoke",
  summary: "Make a token stop working, at once and for good",
  argument: { shape: "ID", doc: "The token's id, at-…, as 'cadastre token list' shows it." },
  settings: registerSettings,
  details: ["Example: cadastre token revoke at-Vu8nnHcZRFHrWZVX"],
  async run({ terminal, argument, settings }) {
    await writing(settings(), async (tx, context) => {
      const token = await tx.db.selectFrom("tokens").select(columns).where("id", "=", argument).executeTakeFirst();
      if (token === undefined)
        throw new AppError(
          "not-found",
          `There is no token ${quoted(argument)}. 'cadastre token list' shows their ids.`,
        );
      await removeToken(tx, context, token);
    });
    terminal.out(`Revoked the token ${argument}.`);
  },
};

/** All but the hash, which is nobody's business. */
const columns = [
  "tokens.id",
  "tokens.kind",
  "tokens.userId",
  "tokens.teamId",
  "tokens.organizationId",
  "tokens.isLegacy",
  "tokens.description",
  "tokens.createdById",
  "tokens.createdAt",
  "tokens.expiredAt",
  "tokens.lastUsedAt",
  "tokens.version",
] as const;

type HeldToken = ShownToken & { readonly holder: string | null };

async function listHeldTokens(tx: Tx, userId: string | undefined): Promise<HeldToken[]> {
  return (
    tx.db
      .selectFrom("tokens")
      .leftJoin("users as u", "u.id", "tokens.userId")
      .leftJoin("teams as t", "t.id", "tokens.teamId")
      .leftJoin("organizations as o", "o.id", "tokens.organizationId")
      .select(columns)
      .select((select) => select.fn.coalesce("u.username", "t.name", "o.name").as("holder"))
      // Those who have signed in in a browser end that there.
      .where("tokens.kind", "<>", "session")
      .$if(userId !== undefined, (query) => query.where("tokens.userId", "=", userId ?? ""))
      .orderBy("tokens.createdAt", "desc")
      .orderBy("tokens.id")
      .execute()
  );
}

/** Raises UsageError. */
function expiry({ value }: Invocation): string | undefined {
  const duration = value("expires-in");
  if (duration === undefined) return value("expires-at");
  if (value("expires-at") !== undefined)
    throw new UsageError("--expires-in and --expires-at exclude each other: give one of them.");
  if (!activityDurationPattern.test(duration))
    throw new UsageError("--expires-in must be a number of days or hours, such as 30d or 12h.");
  return new Date(Date.now() + activityDurationMs(duration)).toISOString();
}

interface TokenAttributes {
  readonly description: string | null;
  readonly expiredAt: string | null;
}

/** The API's own rules for the attributes. Raises `invalid` with every fault. */
function checked(attributes: Record<string, unknown>): TokenAttributes {
  const body = parseBody(authenticationTokens, "create", { data: { type: authenticationTokens.type, attributes } });
  return (body as { attributes: TokenAttributes }).attributes;
}

/** Named like the attributes of the API. */
function toRow(token: HeldToken) {
  return {
    id: token.id,
    kind: token.kind,
    holder: token.holder,
    description: token.description,
    "created-at": token.createdAt,
    "expired-at": token.expiredAt,
    "last-used-at": token.lastUsedAt,
  };
}
