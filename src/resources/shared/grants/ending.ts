/** Access that ends: what may be said of its end, which access ends with a team or a project, and where the removal of ended access begins. The same for team access and for places in teams. */
import { type RawBuilder, sql } from "kysely";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { forEver, inForce } from "./in-force.ts";

export interface Ending {
  /** The moment from which on it gives nothing; null for ever. */
  readonly expiresAt: string | null;
  readonly reason: string | null;
}

/** What a body says of it; what it leaves out stays as it is. */
export type SentEnding = { readonly [Name in keyof Ending]?: Ending[Name] | undefined };

export const endingAfter = (before: Ending, { expiresAt, reason }: SentEnding): Ending => ({
  expiresAt: expiresAt === undefined ? before.expiresAt : expiresAt,
  reason: reason === undefined ? before.reason : reason,
});

/** Of a place in a team, by what the statement calls it: why somebody has it, where a group at a provider gave it. */
export const groupOfPlace = (table: string): RawBuilder<string | null> =>
  sql<string | null>`case when ${sql.ref(`${table}.ssoProviderId`)} is not null then ${sql.ref(`${table}.reason`)} end`;

export const lasting: Ending = { expiresAt: null, reason: null };

export const endSchema = timestamp().nullable();
export const endDoc =
  "The moment at which the access ends by itself; null for ever. It can be changed until then, and what has ended can be given anew.";
export const reasonSchema = text({
  max: 1024,
  // Statements put reasons and other things into one text, with such characters between them.
  // oxlint-disable-next-line no-control-regex
  pattern: /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$/,
  sentence: "may not contain control characters",
}).nullable();
export const reasonDoc = "What the access was given for.";

/** Something can only be given until a moment that is still to come. */
export function endFaults(expiresAt: string | null | undefined, pointer = "/data/attributes/expires-at"): Fault[] {
  if (expiresAt === undefined || expiresAt === null || expiresAt > now()) return [];
  const detail = `Expires at must be in the future: ${expiresAt} has passed. To end access now, delete it`;
  return [{ pointer, detail }];
}

/** The end as a moment that can be compared: what lasts for ever ends after everything else. */
export const endOf = ({ expiresAt }: Pick<Ending, "expiresAt">): string => expiresAt ?? forEver;

/** As the `meta` of a link that gives access: what is left out of it stays as it is. */
export const endingMeta = z
  .object({ "expires-at": endSchema.optional(), reason: reasonSchema.optional() })
  .superRefine(({ "expires-at": expiresAt }, context) => {
    for (const { detail } of endFaults(expiresAt))
      context.addIssue({ code: "custom", path: ["expires-at"], message: detail.replace(/^Expires at /, "") });
  })
  .transform(({ "expires-at": expiresAt, reason }): SentEnding => ({ expiresAt, reason }));

/** The same as it is shown, where there is anything to show. */
export function shownEnding(ending: Ending | undefined): object | undefined {
  if (ending === undefined || (ending.expiresAt === null && ending.reason === null)) return undefined;
  return { "expires-at": ending.expiresAt, reason: ending.reason };
}

type Row = Record<"team" | "project" | "workspace" | "access" | "membership" | "username", string | null> & Ending;

const none = sql`cast(null as text)`;
const listed = (name: string, rows: readonly object[]): object => (rows.length === 0 ? {} : { [name]: rows });

/** What a team may do where, and who is in it. */
export async function accessOfTeam(tx: Tx, teamId: string): Promise<object> {
  const { rows } = await sql<Row>`
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
    ...listed(
      "grants",
      grants.map(({ project, workspace, access, ...ending }) => ({
        ...(project === null ? { workspace } : { project }),
        access,
        ...shownEnding(ending),
      })),
    ),
    ...listed(
      "members",
      members.map(({ membership, username, ...ending }) => ({ membership, username, ...shownEnding(ending) })),
    ),
  };
}

/** Which teams have access to a project. */
export async function accessToProject(tx: Tx, projectId: string): Promise<object> {
  const { rows } =
    await sql<Row>`select g.team_id as team, g.access as access, g.expires_at as expires_at, g.reason as reason
    from team_projects as g where g.project_id = ${projectId} and ${inForce("g")}`.execute(tx.db);
  return listed(
    "grants",
    rows.map(({ team, access, ...ending }) => ({ team, access, ...shownEnding(ending) })),
  );
}

export interface Ended {
  readonly organizationId: string;
  /** The present by the database's clock, as it is stored: what ended until then goes. */
  readonly until: string;
}

/** `alone` as in `shared/locks.ts`. Undefined where nothing has ended. */
export async function holdFirstEnded(
  tx: Tx,
  table: "teamMembers" | "teamProjects" | "teamWorkspaces",
  { alone = false } = {},
): Promise<Ended | undefined> {
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
    .selectFrom("organizations as o")
    .select("o.id")
    .where("o.id", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("o", alone ? "change" : "reference"))
    .execute();
  return { organizationId, until };
}
