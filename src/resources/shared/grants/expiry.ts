/** Validates, audits and finds access that expires: team access and team memberships. */
import { type RawBuilder, sql } from "kysely";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { neverExpires, inForce } from "./in-force.ts";

export interface GrantExpiry {
  readonly expiresAt: string | null;
  readonly reason: string | null;
}

export type GrantExpiryInput = { readonly [Name in keyof GrantExpiry]?: GrantExpiry[Name] | undefined };

export const mergeExpiry = (before: GrantExpiry, { expiresAt, reason }: GrantExpiryInput): GrantExpiry => ({
  expiresAt: expiresAt === undefined ? before.expiresAt : expiresAt,
  reason: reason === undefined ? before.reason : reason,
});

/** The identity provider's group that gave a membership. */
export const membershipGroup = (table: string): RawBuilder<string | null> =>
  sql<string | null>`case when ${sql.ref(`${table}.ssoProviderId`)} is not null then ${sql.ref(`${table}.reason`)} end`;

export const noExpiry: GrantExpiry = { expiresAt: null, reason: null };

export const expiresAtSchema = timestamp().nullable();
export const expiresAtDoc =
  "When the access expires; null for never. It can be changed until then, and expired access can be granted again.";
export const reasonSchema = text({
  max: 1024,
  // Some statements join reasons and other columns, separated by control characters.
  // oxlint-disable-next-line no-control-regex
  pattern: /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$/,
  sentence: "can't contain control characters",
}).nullable();
export const reasonDoc = "Why the access was granted.";

export function expiresAtFaults(
  expiresAt: string | null | undefined,
  pointer = "/data/attributes/expires-at",
): Fault[] {
  if (expiresAt === undefined || expiresAt === null || expiresAt > now()) return [];
  const detail = `Expires at must be in the future: ${expiresAt} has passed. To end access now, delete it`;
  return [{ pointer, detail }];
}

export const expiryOrNever = ({ expiresAt }: Pick<GrantExpiry, "expiresAt">): string => expiresAt ?? neverExpires;

/** The `meta` of a resource identifier; what it leaves out stays the same. */
export const expiryMeta = z
  .object({ "expires-at": expiresAtSchema.optional(), reason: reasonSchema.optional() })
  .superRefine(({ "expires-at": expiresAt }, context) => {
    for (const { detail } of expiresAtFaults(expiresAt))
      context.addIssue({ code: "custom", path: ["expires-at"], message: detail.replace(/^Expires at /, "") });
  })
  .transform(({ "expires-at": expiresAt, reason }): GrantExpiryInput => ({ expiresAt, reason }));

export function shownExpiry(expiry: GrantExpiry | undefined): object | undefined {
  if (expiry === undefined || (expiry.expiresAt === null && expiry.reason === null)) return undefined;
  return { "expires-at": expiry.expiresAt, reason: expiry.reason };
}

type TeamGrantListRow = Record<"team" | "project" | "workspace" | "access" | "membership" | "username", string | null> &
  GrantExpiry;

const none = sql`cast(null as text)`;
const unlessEmpty = (name: string, rows: readonly object[]): object => (rows.length === 0 ? {} : { [name]: rows });

export async function teamAccessForAudit(tx: Tx, teamId: string): Promise<object> {
  const { rows } = await sql<TeamGrantListRow>`
    select g.project_id as project, ${none} as workspace, g.access as access, ${none} as membership, ${none} as username,
      g.expires_at as expires_at, g.reason as reason
    from team_projects as g where g.team_id = ${teamId} and ${inForce("g")}
    union all select ${none}, g.workspace_id, g.access, ${none}, ${none}, g.expires_at, g.reason
    from team_workspaces as g where g.team_id = ${teamId} and ${inForce("g")}
    union all select ${none}, ${none}, ${none}, m.membership_id, u.username, m.expires_at, m.reason
    from team_members as m left join users u on u.id = m.user_id where m.team_id = ${teamId} and ${inForce("m")}`.execute(
    tx.db,
  );
  const grants = rows.filter(({ membership }) => membership === null);
  const members = rows.filter(({ membership }) => membership !== null);
  return {
    ...unlessEmpty(
      "grants",
      grants.map(({ project, workspace, access, ...expiry }) => ({
        ...(project === null ? { workspace } : { project }),
        access,
        ...shownExpiry(expiry),
      })),
    ),
    ...unlessEmpty(
      "members",
      members.map(({ membership, username, ...expiry }) => ({ membership, username, ...shownExpiry(expiry) })),
    ),
  };
}

export async function projectAccessForAudit(tx: Tx, projectId: string): Promise<object> {
  const { rows } =
    await sql<TeamGrantListRow>`select g.team_id as team, g.access as access, g.expires_at as expires_at, g.reason as reason
    from team_projects as g where g.project_id = ${projectId} and ${inForce("g")}`.execute(tx.db);
  return unlessEmpty(
    "grants",
    rows.map(({ team, access, ...expiry }) => ({ team, access, ...shownExpiry(expiry) })),
  );
}

export interface ExpiredGrants {
  readonly organizationId: string;
  /** By the database's clock. */
  readonly until: string;
}

/** Locks the organization whose access expired first; `isExclusive`: as an `exclusive` lock does. */
export async function lockFirstExpired(
  tx: Tx,
  table: "teamMembers" | "teamProjects" | "teamWorkspaces",
  { isExclusive = false } = {},
): Promise<ExpiredGrants | undefined> {
  const { rows } = await sql<{ nowMs: number }>`select ${tx.dialect.nowMs} as now_ms`.execute(tx.db);
  const until = new Date(rows[0]?.nowMs ?? 0).toISOString();
  const first = await tx.db
    .selectFrom(table as "teamProjects")
    .select("organizationId")
    .where("expiresAt", "<=", until)
    .orderBy("expiresAt")
    .limit(1)
    .executeTakeFirst();
  if (first === undefined) return undefined;
  const { organizationId } = first;
  await tx.db
    .selectFrom("openOrganizations as o")
    .select("o.id")
    .where("o.id", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("o", isExclusive ? "change" : "reference"))
    .execute();
  return { organizationId, until };
}
