/**
 * How searches find workspaces by parts of their names without a look at every name: by the index of migration 0013, which is
 * another on each engine. Whatever is found is still to be checked: an index only says which may match.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";

export interface NameQuery {
  readonly organizationId: string;
  /** Each in a name, in any order: some of three characters or more, or one pair. `isIndexed` holds for each. */
  readonly parts: readonly string[];
}

export interface NameIndex {
  /** Columns of the workspaces, called `v`, that may have these parts in their names. A FROM item without its alias. */
  candidates(columns: RawBuilder<unknown>, query: NameQuery): RawBuilder<unknown>;
  /** How many names contain one part, exactly. */
  counted(organizationId: string, part: string): RawBuilder<number>;
}

/** What names are made of, and long enough for the index; other parts are looked for in every name. */
export function isIndexed(part: string): boolean {
  return /^[a-z0-9_-]{2,}$/.test(part);
}

/** Shorter than what the index holds. Whatever is longer than a pair that it contains has one of the parts around it, too. */
export const isPair = (part: string): boolean => part.length === 2;

const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789_-"];
const partsAround = (pair: string) => letters.flatMap((letter) => [pair + letter, letter + pair]);

/** From so many on, all names are looked at in order, which is quicker than to look up so many one by one. */
export const fewMax = 2_000;

const phrase = (part: string): string =>
  isPair(part) ? `(${partsAround(part).map(phrase).join(" OR ")})` : `"${part}"`;

/** The range of an organization's numbers, and the last that is indexed. */
const range = (organizationId: string) => sql`
  from workspace_name_ranges as r where r.organization_id = ${organizationId}`;

/** The numbers of an organization's names that are indexed and match. */
function indexedNumbers(organizationId: string, expression: string): RawBuilder<unknown> {
  return sql`from workspace_name_parts where workspace_name_parts match ${expression}
    and rowid > (select r.number << 32 ${range(organizationId)})
    and rowid <= (select (r.number << 32) + r.indexed ${range(organizationId)})`;
}

/** Names that wait to be indexed. Those that are a pair and nothing else never are, and are looked for by themselves. */
function waitingNames(organizationId: string, parts: readonly string[]): RawBuilder<unknown> {
  const contains = parts.flatMap((part) => [
    sql<SqlBool>`instr(n.name_key, ${part}) > 0`,
    ...(isPair(part) ? [sql<SqlBool>`n.name_key <> ${part}`] : []),
  ]);
  return sql`from workspace_names as n
    where n.number > (select (r.number << 32) + r.indexed ${range(organizationId)})
      and n.number <= (select (r.number << 32) + r.last ${range(organizationId)}) and ${sql.join(contains, sql` and `)}`;
}

/** Workspaces, called `v`, whose whole name is a pair: the index has no part of it. */
const named = (organizationId: string, pair: string) => sql`
  from workspaces as v where v.organization_id = ${organizationId} and v.name_key = ${pair}`;

export const sqliteNames: NameIndex = {
  candidates: (columns, { organizationId, parts }) => {
    const matching = indexedNumbers(organizationId, parts.map(phrase).join(" AND "));
    const pairs = parts.filter(isPair);
    // CROSS JOIN keeps the order: how many there are decides whether the rest is looked at; then from what was found to its row.
    return sql`(
      with found as materialized (select rowid as number ${matching} limit ${fewMax + 1}),
      matches as materialized (select count(*) as number from found)
      select ${columns} from matches cross join found
        cross join workspace_names as n on n.number = found.number
        cross join workspaces as v on v.id = n.workspace_id
        where matches.number <= ${fewMax}
      union all
      select ${columns} from matches cross join (select n.workspace_id as id ${waitingNames(organizationId, parts)}) as waiting
        cross join workspaces as v on v.id = waiting.id
        where matches.number <= ${fewMax}
      ${sql.join(
        pairs.map(
          (pair) => sql`union all select ${columns} ${named(organizationId, pair)}
            and (select number from matches) <= ${fewMax}`,
        ),
        sql` `,
      )}
      union all
      select ${columns} from matches cross join workspaces as v
        where matches.number > ${fewMax} and v.organization_id = ${organizationId})`;
  },
  counted: (organizationId, part) => sql<number>`(
    (select count(*) ${indexedNumbers(organizationId, phrase(part))})
    + (select count(*) ${waitingNames(organizationId, [part])})
    ${isPair(part) ? sql`+ (select count(*) ${named(organizationId, part)})` : sql``})`,
};

/** By the index of migration 0013, which holds numbers: of each part together with the organization. */
function mayContain(organizationId: string, part: string): RawBuilder<SqlBool> {
  const indexed = sql`workspace_name_parts(v.organization_id, v.name_key)`;
  if (!isPair(part)) return sql<SqlBool>`${indexed} @> workspace_name_parts(${organizationId}, ${part})`;
  return sql<SqlBool>`${indexed} && array(
    select hashtextextended(cast(${organizationId} as text) || around.part, 0)
    from unnest(cast(${partsAround(part)} as text[])) as around (part))`;
}

function postgresCandidates(columns: RawBuilder<unknown>, { organizationId, parts }: NameQuery): RawBuilder<unknown> {
  const contain = parts.map((part) => mayContain(organizationId, part));
  const pairs = parts.filter(isPair).map((pair) => sql`union all select ${columns} ${named(organizationId, pair)}`);
  // The parts are the organization's own. That it is asked for like this keeps PostgreSQL from looking up all its workspaces as well.
  return sql`(select ${columns} from workspaces as v
    where v.organization_id || '' = ${organizationId} and ${sql.join(contain, sql` and `)} ${sql.join(pairs, sql` `)})`;
}

export const postgresNames: NameIndex = {
  candidates: postgresCandidates,
  // Few are found by their parts. Of many, each row would be read, and perhaps its parts worked out anew: then a look at every name is
  // cheaper, because an index holds these alone.
  counted: (organizationId, part) => {
    const query = { organizationId, parts: [part] };
    return sql<number>`(
      with few as materialized (
        select 1 from ${postgresCandidates(sql`v.name_key as name_key`, query)} as v
        where strpos(v.name_key, ${part}) > 0 limit ${sql.lit(fewMax + 1)}),
      counted_few as materialized (select count(*) as number from few)
      select case when number <= ${sql.lit(fewMax)} then number
        else (select count(*) from workspaces as v
          where v.organization_id = ${organizationId} and strpos(v.name_key, ${part}) > 0) end
      from counted_few)`;
  },
};
