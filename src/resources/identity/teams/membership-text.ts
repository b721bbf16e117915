/** Encodes a person's team memberships as one text column, and decodes it. */
import { type RawBuilder, sql } from "kysely";
import type { GrantExpiry } from "../../shared/grants/expiry.ts";

/** Ids, timestamps and reasons never contain these characters. */
const recordSeparator = "\u001e";
const fieldSeparator = "\u001f";
const separator = sql.raw(`'${fieldSeparator}'`);

const membershipFields = sql`tm.team_id || ${separator} || coalesce(tm.expires_at, '') || ${separator} || coalesce('=' || tm.reason, '')`;

export function teamMembershipsText(extra: RawBuilder<unknown>[] = []): RawBuilder<string | null> {
  const fields = [membershipFields, ...extra];
  return sql<
    string | null
  >`string_agg(${sql.join(fields, sql` || ${separator} || `)}, ${sql.raw(`'${recordSeparator}'`)} order by tm.team_id)`;
}

export interface TeamMembership extends GrantExpiry {
  readonly teamId: string;
  readonly extra: readonly string[];
}

export function parseTeamMemberships(text: string | null): TeamMembership[] {
  if (text === null) return [];
  return text.split(recordSeparator).map((record): TeamMembership => {
    const [teamId = "", expiresAt = "", reason = "", ...extra] = record.split(fieldSeparator);
    return { teamId, expiresAt: expiresAt || null, reason: reason === "" ? null : reason.slice(1), extra };
  });
}

export const expiriesByTeam = (memberships: readonly TeamMembership[]): ReadonlyMap<string, GrantExpiry> =>
  new Map(memberships.map(({ teamId, expiresAt, reason }) => [teamId, { expiresAt, reason }]));
