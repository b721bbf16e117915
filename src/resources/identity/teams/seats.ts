/** Encodes a person's team memberships, with expiry and reason, as one text column of a statement, and decodes it. */
import { type RawBuilder, sql } from "kysely";
import type { Ending } from "../../shared/grants/ending.ts";

/** Ids, timestamps and reasons never contain these characters. */
const betweenSeats = "\u001e";
const between = "\u001f";
const separator = sql.raw(`'${between}'`);

const membershipFields = sql`tm.team_id || ${separator} || coalesce(tm.expires_at, '') || ${separator} || coalesce('=' || tm.reason, '')`;

/** Ordered by team id; `further` fields come last in each record. */
export function seatsText(further: RawBuilder<unknown>[] = []): RawBuilder<string | null> {
  const facts = [membershipFields, ...further];
  return sql<
    string | null
  >`string_agg(${sql.join(facts, sql` || ${separator} || `)}, ${sql.raw(`'${betweenSeats}'`)} order by tm.team_id)`;
}

export interface Seat extends Ending {
  readonly teamId: string;
  readonly further: readonly string[];
}

export function seatsIn(text: string | null): Seat[] {
  if (text === null) return [];
  return text.split(betweenSeats).map((seat): Seat => {
    const [teamId = "", expiresAt = "", reason = "", ...further] = seat.split(between);
    return { teamId, expiresAt: expiresAt || null, reason: reason === "" ? null : reason.slice(1), further };
  });
}

export const endingsOf = (seats: readonly Seat[]): ReadonlyMap<string, Ending> =>
  new Map(seats.map(({ teamId, expiresAt, reason }) => [teamId, { expiresAt, reason }]));
