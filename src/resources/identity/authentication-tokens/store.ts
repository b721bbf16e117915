/** SQL of API tokens. The hash of a secret must not leave this file. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { CredentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { TeamPermissionInput } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { type ChangeParameters, noChanges } from "../../../database/organization-changes.ts";
import { prepared } from "../../../database/prepared.ts";
import type { TokenTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { inForce, nextExpiry } from "../../shared/grants/in-force.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { factsColumns, type OrganizationView } from "../organizations/definition.ts";
import { countOf, fetchPage, type SortColumn } from "../../shared/paging.ts";
import { teamIsVisible } from "../teams/visibility.ts";
import type { TokenView } from "./definition.ts";
import type { OrganizationTokenKind } from "./rules.ts";

export type TokenHolderRef =
  | { readonly userId: string }
  | { readonly teamId: string }
  | { readonly organizationName: string; readonly kind: OrganizationTokenKind };

const columns = [
  "k.id",
  "k.kind",
  "k.userId",
  "k.teamId",
  "k.organizationId",
  "k.isLegacy",
  "k.description",
  "k.createdById",
  "k.createdAt",
  "k.expiredAt",
  "k.lastUsedAt",
  "k.version",
] as const;

function selectTokens(db: Kysely<Schema>) {
  return db
    .selectFrom("tokens as k")
    .leftJoin("openOrganizations as o", "o.id", "k.organizationId")
    .select(columns)
    .select(factsColumns);
}

export interface ManagedTokenView extends TokenView, TeamPermissionInput {
  readonly standing: OrganizationStanding;
}

async function findForActor(
  tx: Tx,
  actor: Actor,
  query: ReturnType<typeof selectTokens>,
): Promise<ManagedTokenView | undefined> {
  const principal = principalOf(actor);
  const row = await query
    .leftJoin("teams as t", "t.id", "k.teamId")
    .select(["t.isOwners", "t.visibility", "t.allowMemberTokenManagement"])
    .select(standingColumns(sql.ref("k.organizationId"), principal))
    .select(
      sql<number>`(select count(*) from team_members as tm
        where tm.team_id = k.team_id and tm.user_id = ${principal} and ${inForce("tm")})`.as("membership"),
    )
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { membership, isOwners, visibility, allowMemberTokenManagement, ...token } = row;
  return {
    ...token,
    isOwners: isOwners ?? 0,
    visibility: visibility ?? "secret",
    allowMemberTokenManagement: allowMemberTokenManagement ?? 0,
    includesActor: token.teamId === principal ? 1 : membership,
    standing: checkedStandingOf(actor, { ...row, organizationId: token.organizationId ?? "" }),
  };
}

export async function findToken(tx: Tx, actor: Actor, id: string): Promise<ManagedTokenView | undefined> {
  return findForActor(tx, actor, selectTokens(tx.db).where("k.id", "=", id).where("k.kind", "<>", "session"));
}

export async function findLegacyToken(
  tx: Tx,
  actor: Actor,
  holder: TokenHolderRef,
): Promise<ManagedTokenView | undefined> {
  return findForActor(tx, actor, selectTokensOf(tx.db, holder).where("k.isLegacy", "=", 1));
}

function selectTokensOf(db: Kysely<Schema>, holder: TokenHolderRef) {
  if ("userId" in holder) return selectTokens(db).where("k.userId", "=", holder.userId).where("k.kind", "=", "user");
  if ("teamId" in holder) return selectTokens(db).where("k.teamId", "=", holder.teamId);
  return selectTokens(db).where("o.nameKey", "=", fold(holder.organizationName)).where("k.kind", "=", holder.kind);
}

const newestFirst: readonly SortColumn[] = [{ column: "k.createdAt", descending: true }, { column: "k.id" }];

export async function listTokens(
  tx: Tx,
  holder: TokenHolderRef,
  page: Page,
): Promise<{ views: TokenView[]; totalCount: number }> {
  const rows = selectTokensOf(tx.db, holder);
  const found = await fetchPage(tx, {
    rows,
    order: newestFirst,
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("k.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

export type TeamTokenSort = Sort<"team-name" | "created-by" | "expired-at" | "last-used-at">;
/** Never null, because the database engines sort nulls differently. */
const sortColumns = {
  "team-name": "teamName",
  "created-by": "createdByKey",
  "expired-at": "expiryKey",
  "last-used-at": "useKey",
} as const;

/** Shows tokens of the owners team only to human owners, and those of secret teams only to callers who can see the team. */
export async function listTeamTokens(
  tx: Tx,
  actor: Actor,
  organization: OrganizationView,
  search: { page: Page; searchText: string | undefined; sort: TeamTokenSort | undefined },
): Promise<{ views: TokenView[]; totalCount: number }> {
  const { standing } = organization;
  let rows = selectTokens(tx.db)
    .innerJoin("teams as t", "t.id", "k.teamId")
    .select([
      "t.nameKey as teamName",
      sql<string>`coalesce(k.created_by_id, '')`.as("createdByKey"),
      // Tokens that never expire sort after every date, unused tokens before.
      sql<string>`coalesce(k.expired_at, '~')`.as("expiryKey"),
      sql<string>`coalesce(k.last_used_at, '')`.as("useKey"),
    ])
    .where("k.organizationId", "=", organization.id)
    .where("k.kind", "=", "team")
    .where(teamIsVisible(actor, standing));
  if (!standing.managesOwnersTeam) rows = rows.where("t.isOwners", "=", 0);
  if (search.searchText) rows = rows.where(containsWords(tx.dialect, [sql.ref("t.nameKey")], search.searchText));
  const order: SortColumn[] =
    search.sort === undefined
      ? [...newestFirst]
      : [{ column: sortColumns[search.sort.key], descending: search.sort.descending }, { column: "k.id" }];
  const found = await fetchPage(tx, {
    rows,
    order,
    page: search.page,
    totals: { totalCount: countOf(rows.clearSelect().select("k.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

export async function isDescriptionTaken(
  tx: Tx,
  teamId: string,
  description: string,
  replacedId = "",
): Promise<boolean> {
  const found = await tx.db
    .selectFrom("tokens")
    .select("id")
    .where("teamId", "=", teamId)
    .where("description", "=", description)
    .where("id", "<>", replacedId)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

export type TokenIssueProof = Granted<object, "can-manage-user-tokens" | "can-update-api-token" | "can-administer">;

export async function insertToken(
  tx: Tx,
  _by: TokenIssueProof | Granted<object, "can-sign-in">,
  { endsAt: expiredAt }: CredentialTerm,
  row: Omit<TokenTable, "expiredAt">,
): Promise<void> {
  await tx.db
    .insertInto("tokens")
    .values({ ...row, expiredAt })
    .execute();
}

const auditedTokenColumns = ["id", "kind", "userId", "teamId", "organizationId", "description", "expiredAt"] as const;

export async function deleteTokenRow(
  tx: Tx,
  { id }: Granted<{ readonly id: string }, "can-manage" | "can-administer">,
) {
  return tx.db
    .deleteFrom("tokens")
    .where((where) => where.or([where("id", "=", id), where("begunById", "=", id)]))
    .returning(auditedTokenColumns)
    .execute();
}

export async function lockToken(tx: Tx, id: string): Promise<Pick<TokenTable, "id" | "expiredAt"> | undefined> {
  return tx.db
    .selectFrom("tokens")
    .select(["id", "expiredAt"])
    .where("id", "=", id)
    .modifyEnd(tx.dialect.lockRows("tokens", "reference"))
    .executeTakeFirst();
}

/** Proof that the caller is the user, or changes the user so that they must sign in again. */
export type SessionEndProof = Granted<
  { readonly id: string },
  "can-manage" | "can-update" | "can-administer" | "can-accept" | "can-sign-in"
>;

export async function deleteUserTokenRows(tx: Tx, user: SessionEndProof, kind: "session" | "user", id?: string) {
  return tx.db
    .deleteFrom("tokens")
    .where("userId", "=", user.id)
    .where("kind", "=", kind)
    .$if(id !== undefined, (query) => query.where("id", "=", id ?? ""))
    .returning(auditedTokenColumns)
    .execute();
}

export async function deleteSessionRowsOfProvider(
  tx: Tx,
  provider: Granted<{ readonly id: string }, "can-administer">,
) {
  return tx.db
    .deleteFrom("tokens")
    .where("id", "in", (query) =>
      query.selectFrom("ssoSessions").select("tokenId").where("ssoProviderId", "=", provider.id),
    )
    .returning(auditedTokenColumns)
    .execute();
}

export async function deleteTeamTokenRows(
  tx: Tx,
  actor: Actor,
  organization: Granted<OrganizationView, "can-create-team">,
) {
  const { id, standing } = organization;
  return tx.db
    .deleteFrom("tokens")
    .where("organizationId", "=", id)
    .where("kind", "=", "team")
    .where("teamId", "in", (query) =>
      query
        .selectFrom("teams as t")
        .select("t.id")
        .where("t.organizationId", "=", id)
        .where(teamIsVisible(actor, standing))
        .$if(!standing.managesOwnersTeam, (teams) => teams.where("t.isOwners", "=", 0)),
    )
    .returning(auditedTokenColumns)
    .execute();
}

/** Skips rows that another transaction is deleting. */
export async function deleteExpiredTokenRows(tx: Tx, _by: Capability<"job">, limit: number) {
  const { rows } = await sql<{ nowMs: number }>`select ${tx.dialect.nowMs} as now_ms`.execute(tx.db);
  const now = new Date(rows[0]?.nowMs ?? 0).toISOString();
  return tx.db
    .deleteFrom("tokens")
    .where("id", "in", (tokens) =>
      tokens
        .selectFrom("tokens as k")
        .select("k.id")
        .where("k.expiredAt", "<=", now)
        .orderBy("k.expiredAt")
        .limit(limit)
        .modifyEnd(tx.dialect.lockRowsSkipLocked("k", "removal")),
    )
    .returning(auditedTokenColumns)
    .execute();
}

export async function lockAvailableTokens(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("tokens as k")
    .select("k.id")
    .where(tx.dialect.isOneOf(sql.ref("k.id"), ids))
    .modifyEnd(tx.dialect.lockRowsSkipLocked("k"))
    .execute();
  return rows.map((row) => row.id);
}

/** In the order of the encoded text. */
const tokenColumns = {
  id: sql`k.id`,
  kind: sql`k.kind`,
  hash: sql`k.hash`,
  createdAt: sql`k.created_at`,
  expiredAt: sql`k.expired_at`,
  starterCreatedAt: sql`b.created_at`,
  maxTtlMs: sql`case when o.max_ttl_enabled = 1 then (
    select max_ttl_ms from organization_token_ttl_policies
    where organization_id = k.organization_id and token_type = replace(k.kind, '-', '_')) end`,
  userId: sql`k.user_id`,
  username: sql`u.username`,
  isSiteAdmin: sql`u.is_site_admin`,
  teamId: sql`k.team_id`,
  teamName: sql`t.name`,
  organizationId: sql`k.organization_id`,
  organizationName: sql`o.name`,
  identityTrustId: sql`k.identity_trust_id`,
};

/** Missing values are empty. `nextTtlMs` is the next age at which an organization can reject a user's token. */
export type TokenHolderFields = Readonly<Record<keyof typeof tokenColumns | "nextTtlMs", string>>;

/** Names, ids and timestamps never contain these characters. */
export const fieldSeparator = "\u001f";
const recordSeparator = "\u001e";

export interface TokenLookup {
  /** Encoded for `parseHolder`; equal texts mean equal holders. */
  readonly holder: string;
  /** Undefined on SQLite. */
  readonly snapshotId: number | undefined;
  /** The next expiry of any grant. */
  readonly nextGrantExpiry: string | null;
  readonly version: string | null;
}

/** Every request starts with this. One encoded text is faster than many columns, and is usually the same as before. */
export function tokenLookup<Parameters extends object>(
  version: (parameters: Parameters) => RawBuilder<string | null>,
  by: "hash" | "id" = "hash",
) {
  type LookupParameters = Parameters & ChangeParameters & { token: string; nowMs: number };
  const find = prepared<LookupParameters, { parts: string }>((db, parameters, dialect) => {
    const age = sql`cast(${parameters.nowMs} as bigint) - ${dialect.msOf(sql<string>`coalesce(b.created_at, k.created_at)`)}`;
    const nextTtlMs = sql`case when k.kind = 'user' or b.id is not null then (
      select min(max_ttl_ms) from organization_token_ttl_policies where token_type = 'user' and max_ttl_ms > ${age}) end`;
    const asText = (value: RawBuilder<unknown>) => sql`coalesce(cast(${value} as text), '')`;
    const holder = sql.join(
      [...Object.values(tokenColumns), nextTtlMs].map(asText),
      sql.raw(`|| '${fieldSeparator}' ||`),
    );
    const parts = [
      sql`${holder}`,
      asText(dialect.snapshotId(parameters)),
      asText(nextExpiry),
      asText(version(parameters)),
    ];
    return (
      db
        .selectFrom("tokens as k")
        .leftJoin("users as u", "u.id", "k.userId")
        .leftJoin("teams as t", "t.id", "k.teamId")
        .leftJoin("openOrganizations as o", "o.id", "k.organizationId")
        .leftJoin("tokens as b", "b.id", "k.begunById")
        .select(sql<string>`${sql.join(parts, sql.raw(`|| '${recordSeparator}' ||`))}`.as("parts"))
        .where(`k.${by}`, "=", parameters.token)
        // A session ends with the token that started it.
        .where((where) => where.or([where("k.organizationId", "is", null), where("o.id", "is not", null)]))
        .where((where) => where.or([where("k.begunById", "is", null), where("b.id", "is not", null)]))
    );
  });
  return async (
    tx: Tx,
    parameters: Parameters & { token: string; nowMs: number },
  ): Promise<TokenLookup | undefined> => {
    const observation = tx.commits?.begin();
    const [row] = await find(tx, { ...parameters, ...(observation?.parameters ?? noChanges) });
    if (row === undefined) return undefined;
    const [holder = "", snapshot = "", grantExpiry, versionText] = row.parts.split(recordSeparator);
    return {
      holder,
      snapshotId: observation?.end(snapshot),
      nextGrantExpiry: grantExpiry || null,
      version: versionText || null,
    };
  };
}

export function parseHolder(text: string): TokenHolderFields {
  const values = text.split(fieldSeparator);
  return Object.fromEntries(
    [...Object.keys(tokenColumns), "nextTtlMs"].map((name, index) => [name, values[index] ?? ""]),
  ) as TokenHolderFields;
}
