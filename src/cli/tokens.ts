/** `cadastre token …`: creates, lists and revokes tokens, in the database or over the API. */
import type { Tx } from "../database/database.ts";
import type { ShownToken } from "../database/schema/identity.ts";
import { parseBody } from "../jsonapi/input.ts";
import { activityDurationMs, activityDurationPattern } from "../kernel/time.ts";
import { AppError } from "../kernel/errors.ts";
import { fold, quoted } from "../kernel/text.ts";
import { type WireObject, textOf, type WireResource } from "../moving/wire.ts";
import { authenticationTokens } from "../resources/identity/authentication-tokens/definition.ts";
import { addToken, type NewToken, removeToken } from "../resources/identity/authentication-tokens/writes.ts";
import type { Settings } from "../settings.ts";
import { type Command, type Invocation, jsonOption, printRows, UsageError } from "./command.ts";
import { readDatabase, databaseSettings, writeDatabase } from "./database.ts";
import { remoteDetails, remoteOf, type RemoteServer, remoteSettings } from "./remote.ts";
import { findUserNamed } from "./users.ts";
import { openWithId } from "../resources/shared/open-organizations.ts";

export const createTokenCommand: Command = {
  name: "token create",
  summary: "Create a token for a user or for an organization's owners team",
  argument: { shape: "NAME", doc: "Username or user id of the token's owner.", option: "user" },
  settings: databaseSettings,
  ownSettings: remoteSettings,
  options: {
    user: { shape: "NAME", doc: "Same as the argument NAME." },
    "owners-of": {
      shape: "ORGANIZATION",
      doc: "Create a token of this organization's owners team instead. Use it to regain access to an organization that rejects user tokens.",
    },
    description: { shape: "TEXT", doc: "Description of the token." },
    "expires-in": {
      shape: "DURATION",
      doc: "Lifetime, such as 30d or 12h. Without this and --expires-at the token never expires.",
    },
    "expires-at": { shape: "TIMESTAMP", doc: "Expiry time, such as 2030-01-31T12:00:00Z." },
    ...jsonOption,
  },
  details: [
    "The token is printed only once; the database stores only its hash.",
    remoteDetails,
    "Example: cadastre token create grace --description laptop --expires-in 30d",
  ],
  async run(invocation) {
    const { terminal, value, isOn, settings } = invocation;
    const sent = { description: value("description") ?? null, "expired-at": expiryOf(invocation) ?? null };
    const attributes = parseAttributes(sent);
    const [user, organization] = [value("user"), value("owners-of")];
    if ((user === undefined) === (organization === undefined))
      throw new UsageError("A token needs an owner: give either NAME or --owners-of ORGANIZATION.");
    const remote = remoteOf(invocation);
    const created =
      remote === undefined
        ? await writeDatabase(settings(), async (tx, context) => {
            const { holder, name } = await (user === undefined
              ? ownersHolder(tx, organization ?? "")
              : userHolder(tx, user));
            const token = await addToken(tx, context, { holder, isLegacy: false, ...attributes });
            return { ...toRow({ ...token, holder: name }), token: token.secret };
          })
        : await (user === undefined
            ? addOwnersToken(remote, organization ?? "", sent)
            : addUserToken(remote, user, sent));
    if (isOn("json")) return terminal.out(JSON.stringify(created, null, 2));
    const expiry = created["expired-at"] === null ? "never expires" : `expires at ${created["expired-at"]}`;
    terminal.out(`Created token ${created.id} for ${created.holder}; it ${expiry}. The token (shown only once):`);
    terminal.out(`\n  ${created.token}\n`);
  },
};

type TokenRow = ReturnType<typeof toRow>;

async function addUserToken(
  remote: RemoteServer,
  name: string,
  sent: WireObject,
): Promise<TokenRow & { token: string }> {
  const user = await remote.findUser(name);
  const created = await remote.create(tokensOf(user), authenticationTokens.type, sent);
  return withSecret(created, "user", textOf(user, "username") ?? name);
}

async function addOwnersToken(
  remote: RemoteServer,
  organization: string,
  sent: WireObject,
): Promise<TokenRow & { token: string }> {
  const teams = await remote.list(`/organizations/${encodeURIComponent(organization)}/teams?filter[names]=owners`);
  const [team] = teams;
  if (team === undefined) throw noOrganization(organization);
  const created = await remote.create(`/teams/${team.id}/authentication-tokens`, authenticationTokens.type, sent);
  return withSecret(created, "team", `the owners of ${organization}`);
}

const tokensOf = (user: WireResource) => `/users/${user.id}/authentication-tokens`;

const withSecret = (created: WireResource, kind: string, holder: string) => ({
  ...rowOf(created, kind, holder),
  token: textOf(created, "token") ?? "",
});

const noOrganization = (name: string) => new AppError("not-found", `There is no organization ${quoted(name)}.`);

interface CliTokenHolder {
  readonly holder: NewToken["holder"];
  readonly name: string;
}

async function userHolder(tx: Tx, name: string): Promise<CliTokenHolder> {
  const { id, username } = await findUserNamed(tx, name);
  return { holder: { kind: "user", userId: id }, name: username };
}

async function ownersHolder(tx: Tx, organization: string): Promise<CliTokenHolder> {
  const team = await tx.db
    .selectFrom("teams as t")
    .innerJoin("organizations as o", openWithId("t.organizationId"))
    .select(["t.id as teamId", "t.organizationId", "o.name as organizationName"])
    .where("o.nameKey", "=", fold(organization))
    .where("t.isOwners", "=", 1)
    .executeTakeFirst();
  if (team === undefined) throw noOrganization(organization);
  return { holder: { kind: "team", ...team }, name: `the owners of ${team.organizationName}` };
}

export const listTokensCommand: Command = {
  name: "token list",
  summary: "List tokens, newest first",
  argument: { shape: "NAME", doc: "Username or user id; lists only this user's tokens.", option: "user" },
  settings: databaseSettings,
  ownSettings: remoteSettings,
  options: { user: { shape: "NAME", doc: "Same as the argument NAME." }, ...jsonOption },
  details: [
    "Without NAME the command lists the tokens of all users, teams and organizations, or over the API those of the token's own user.",
    remoteDetails,
    "Example: cadastre token list grace",
  ],
  async run(invocation) {
    const { terminal, value, isOn, settings } = invocation;
    const name = value("user");
    const remote = remoteOf(invocation);
    const rows =
      remote === undefined
        ? await readDatabase(settings(), async (tx) => {
            const userId = name === undefined ? undefined : (await findUserNamed(tx, name)).id;
            return (await listTokens(tx, userId)).map(toRow);
          })
        : await listUserTokens(remote, name);
    printRows(terminal, rows, { json: isOn("json"), empty: "There are no tokens." });
  },
};

async function listUserTokens(remote: RemoteServer, name: string | undefined): Promise<TokenRow[]> {
  const user = await remote.findUser(name);
  const tokens = await remote.list(tokensOf(user));
  return tokens
    .map((token) => rowOf(token, "user", textOf(user, "username") ?? user.id))
    .toSorted((one, other) => other["created-at"].localeCompare(one["created-at"]));
}

export const revokeTokenCommand: Command = {
  name: "token revoke",
  summary: "Revoke a token, immediately and permanently",
  argument: { shape: "ID", doc: "Id of the token (at-…), from 'cadastre token list'." },
  settings: databaseSettings,
  ownSettings: remoteSettings,
  details: [remoteDetails, "Example: cadastre token revoke at-Vu8nnHcZRFHrWZVX"],
  async run(invocation) {
    const { terminal, argument, settings } = invocation;
    const remote = remoteOf(invocation);
    if (remote === undefined) await revokeHere(settings(), argument);
    else await remote.delete(`/authentication-tokens/${encodeURIComponent(argument)}`);
    terminal.out(`Revoked token ${argument}.`);
  },
};

async function revokeHere(settings: Settings, id: string): Promise<void> {
  await writeDatabase(settings, async (tx, context) => {
    const token = await tx.db.selectFrom("tokens").select(columns).where("id", "=", id).executeTakeFirst();
    if (token === undefined)
      throw new AppError("not-found", `There is no token ${quoted(id)}. Run 'cadastre token list' to see all ids.`);
    await removeToken(tx, context, token);
  });
}

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

type TokenListing = ShownToken & { readonly holder: string | null };

async function listTokens(tx: Tx, userId: string | undefined): Promise<TokenListing[]> {
  return (
    tx.db
      .selectFrom("tokens")
      .leftJoin("users as u", "u.id", "tokens.userId")
      .leftJoin("teams as t", "t.id", "tokens.teamId")
      .leftJoin("openOrganizations as o", "o.id", "tokens.organizationId")
      .select(columns)
      .select((select) => select.fn.coalesce("u.username", "t.name", "o.name").as("holder"))
      // Sessions of the console are not API tokens.
      .where("tokens.kind", "<>", "session")
      .where((where) => where.or([where("tokens.organizationId", "is", null), where("o.id", "is not", null)]))
      .$if(userId !== undefined, (query) => query.where("tokens.userId", "=", userId ?? ""))
      .orderBy("tokens.createdAt", "desc")
      .orderBy("tokens.id")
      .execute()
  );
}

function expiryOf({ value }: Invocation): string | undefined {
  const duration = value("expires-in");
  if (duration === undefined) return value("expires-at");
  if (value("expires-at") !== undefined)
    throw new UsageError("--expires-in and --expires-at can't be combined. Give one of them.");
  if (!activityDurationPattern.test(duration))
    throw new UsageError("--expires-in must be a number of days or hours, such as 30d or 12h.");
  return new Date(Date.now() + activityDurationMs(duration)).toISOString();
}

interface TokenAttributes {
  readonly description: string | null;
  readonly expiredAt: string | null;
}

function parseAttributes(attributes: Record<string, unknown>): TokenAttributes {
  const body = parseBody(authenticationTokens, "create", { data: { type: authenticationTokens.type, attributes } });
  return (body as { attributes: TokenAttributes }).attributes;
}

function toRow(token: TokenListing) {
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

function rowOf(token: WireResource, kind: string, holder: string): TokenRow {
  return {
    id: token.id,
    kind,
    holder,
    description: textOf(token, "description") ?? null,
    "created-at": textOf(token, "created-at") ?? "",
    "expired-at": textOf(token, "expired-at") ?? null,
    "last-used-at": textOf(token, "last-used-at") ?? null,
  };
}
