/** Finds workspaces by parts of their names through the index of migration 0013. Matches are candidates that the caller must check. */
import { type RawBuilder, type SqlBool, sql } from "kysely";

export interface NameQuery {
  readonly organizationId: string;
  /** Several parts of three or more characters in any order, or one pair. `isIndexed` holds for each. */
  readonly parts: readonly string[];
}

export interface NameIndex {
  candidates(columns: RawBuilder<unknown>, query: NameQuery): RawBuilder<unknown>;
  counted(organizationId: string, part: string): RawBuilder<number>;
}

export function isIndexed(part: string): boolean {
  return /^[a-z0-9_-]{2,}$/.test(part);
}

/** Too short for the index. A longer name that contains the pair also contains one of the parts around it. */
export const isBigram = (part: string): boolean => part.length === 2;

const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789_-"];
const partsAround = (pair: string) => letters.flatMap((letter) => [pair + letter, letter + pair]);

/** Up to this number of matches, rows are looked up one by one; beyond it, a scan of the organization is cheaper. */
export const indexLookupMax = 2_000;

const ftsQuery = (part: string): string =>
  isBigram(part) ? `(${partsAround(part).map(ftsQuery).join(" OR ")})` : `"${part}"`;

const range = (organizationId: string) => sql`
  from workspace_name_ranges as r where r.organization_id = ${organizationId}`;

function indexedNumbers(organizationId: string, expression: string): RawBuilder<unknown> {
  return sql`from workspace_name_parts where workspace_name_parts match ${expression}
    and rowid > (select r.number << 32 ${range(organizationId)})
    and rowid <= (select (r.number << 32) + r.indexed ${range(organizationId)})`;
}

/** A name that is just a pair is never indexed; `exactlyNamed` finds it. */
function unindexedNames(organizationId: string, parts: readonly string[]): RawBuilder<unknown> {
  const contains = parts.flatMap((part) => [
    sql<SqlBool>`instr(n.name_key, ${part}) > 0`,
    ...(isBigram(part) ? [sql<SqlBool>`n.name_key <> ${part}`] : []),
  ]);
  return sql`from workspace_names as n
    where n.number > (select (r.number << 32) + r.indexed ${range(organizationId)})
      and n.number <= (select (r.number << 32) + r.last ${range(organizationId)}) and ${sql.join(contains, sql` and `)}`;
}

const exactlyNamed = (organizationId: string, pair: string) => sql`
  from workspaces as v where v.organization_id = ${organizationId} and v.name_key = ${pair}`;

export const sqliteNames: NameIndex = {
  candidates: (columns, { organizationId, parts }) => {
    const matching = indexedNumbers(organizationId, parts.map(ftsQuery).join(" AND "));
    const pairs = parts.filter(isBigram);
    // CROSS JOIN fixes the order: the number of matches decides whether rows are read at all.
    return sql`(
      with found as materialized (select rowid as number ${matching} limit ${indexLookupMax + 1}),
      matches as materialized (select count(*) as number from found)
      select ${columns} from matches cross join found
        cross join workspace_names as n on n.number = found.number
        cross join workspaces as v on v.id = n.workspace_id
        where matches.number <= ${indexLookupMax}
      union all
      select ${columns} from matches cross join (select n.workspace_id as id ${unindexedNames(organizationId, parts)}) as waiting
        cross join workspaces as v on v.id = waiting.id
        where matches.number <= ${indexLookupMax}
      ${sql.join(
        pairs.map(
          (pair) => sql`union all select ${columns} ${exactlyNamed(organizationId, pair)}
            and (select number from matches) <= ${indexLookupMax}`,
        ),
        sql` `,
      )}
      union all
      select ${columns} from matches cross join workspaces as v
        where matches.number > ${indexLookupMax} and v.organization_id = ${organizationId})`;
  },
  counted: (organizationId, part) => sql<number>`(
    (select count(*) ${indexedNumbers(organizationId, ftsQuery(part))})
    + (select count(*) ${unindexedNames(organizationId, [part])})
    ${isBigram(part) ? sql`+ (select count(*) ${exactlyNamed(organizationId, part)})` : sql``})`,
};

function mayContain(organizationId: string, part: string): RawBuilder<SqlBool> {
  const indexed = sql`workspace_name_parts(v.organization_id, v.name_key)`;
  if (!isBigram(part)) return sql<SqlBool>`${indexed} @> workspace_name_parts(${organizationId}, ${part})`;
  return sql<SqlBool>`${indexed} && array(
    select hashtextextended(cast(${organizationId} as text) || around.part, 0)
    from unnest(cast(${partsAround(part)} as text[])) as around (part))`;
}

function postgresCandidates(columns: RawBuilder<unknown>, { organizationId, parts }: NameQuery): RawBuilder<unknown> {
  const contain = parts.map((part) => mayContain(organizationId, part));
  const pairs = parts
    .filter(isBigram)
    .map((pair) => sql`union all select ${columns} ${exactlyNamed(organizationId, pair)}`);
  // The expression keeps PostgreSQL from also reading all workspaces of the organization.
  return sql`(select ${columns} from workspaces as v
    where v.organization_id || '' = ${organizationId} and ${sql.join(contain, sql` and `)} ${sql.join(pairs, sql` `)})`;
}

export const postgresNames: NameIndex = {
  candidates: postgresCandidates,
  // For many matches a scan of the index on names is cheaper than reading each row.
  counted: (organizationId, part) => {
    const query = { organizationId, parts: [part] };
    return sql<number>`(
      with few as materialized (
        select 1 from ${postgresCandidates(sql`v.name_key as name_key`, query)} as v
        where strpos(v.name_key, ${part}) > 0 limit ${sql.lit(indexLookupMax + 1)}),
      counted_few as materialized (select count(*) as number from few)
      select case when number <= ${sql.lit(indexLookupMax)} then number
        else (select count(*) from workspaces as v
          where v.organization_id = ${organizationId} and strpos(v.name_key, ${part}) > 0) end
      from counted_few)`;
  },
};
