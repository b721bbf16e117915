/** The teams of a membership with until when and why the person is in each: as one text, in a statement that lists memberships. */
import { type RawBuilder, sql } from "kysely";
import type { Ending } from "../../shared/grants/ending.ts";

/** Characters that neither ids nor instants nor reasons have. */
const betweenSeats = "\u001e";
const between = "\u001f";
const separator = sql.raw(`'${between}'`);

/** What is told of a place in a team, called `tm` in the statement, after its team's id. */
const told = sql`tm.team_id || ${separator} || coalesce(tm.expires_at, '') || ${separator} || coalesce('=' || tm.reason, '')`;

/** All of them, in the order of the teams' ids; `further` facts of each come last. */
export function seatsText(further: RawBuilder<unknown>[] = []): RawBuilder<string | null> {
  const facts = [told, ...further];
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
  return text.split(betweenSeats).map((seat) => {
    const [teamId = "", expiresAt = "", reason = "", ...further] = seat.split(between);
    return { teamId, expiresAt: expiresAt || null, reason: reason === "" ? null : reason.slice(1), further };
  });
}

/** Of the seats, by their teams. */
export const endingsOf = (seats: readonly Seat[]): ReadonlyMap<string, Ending> =>
  new Map(seats.map(({ teamId, expiresAt, reason }) => [teamId, { expiresAt, reason }]));
