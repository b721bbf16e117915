/**
 * How searches find workspaces by parts of their names without a look at every name: by the index of migration 0013, which is
 * another on each engine. Whatever is found is still to be checked: an index only says which may match.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";

export interface NameQuery {
  readonly organizationId: string;
  /** Each in a name, in any order. At least one; `isIndexed` holds for each. */
  readonly parts: readonly string[];
}

export interface NameIndex {
  /** Columns of the workspaces, called `v`, that may have these parts in their names. A FROM item without its alias. */
  candidates(columns: RawBuilder<unknown>, query: NameQuery): RawBuilder<unknown>;
  /** How many names contain one part, exactly, where the index knows without a look at the names. */
  readonly counted?: (organizationId: string, part: string) => RawBuilder<number>;
}

/** What names are made of, and long enough for the index; other parts are looked for in every name. */
export function isIndexed(part: string): boolean {
  return /^[a-z0-9_-]{3,}$/.test(part);
}

/** From so many on, all names are looked at in order, which is quicker than to look up so many one by one. */
export const fewMax = 2_000;

const phrase = (part: string) => `"${part}"`;

/** The range of an organization's numbers, and the last that is indexed. */
const range = (organizationId: string) => sql`
  from workspace_name_ranges as r where r.organization_id = ${organizationId}`;

/** The numbers of an organization's names that are indexed and match. */
function indexedNumbers(organizationId: string, expression: string): RawBuilder<unknown> {
  return sql`from workspace_name_parts where workspace_name_parts match ${expression}
    and rowid > (select r.number << 32 ${range(organizationId)})
    and rowid <= (select (r.number << 32) + r.indexed ${range(organizationId)})`;
}

/** Names that wait to be indexed. */
function waitingNames(organizationId: string, parts: readonly string[]): RawBuilder<unknown> {
  const contains = parts.map((part) => sql<SqlBool>`instr(n.name_key, ${part}) > 0`);
  return sql`from workspace_names as n
    where n.number > (select (r.number << 32) + r.indexed ${range(organizationId)})
      and n.number <= (select (r.number << 32) + r.last ${range(organizationId)}) and ${sql.join(contains, sql` and `)}`;
}

export const sqliteNames: NameIndex = {
  candidates: (columns, { organizationId, parts }) => {
    const matching = indexedNumbers(organizationId, parts.map(phrase).join(" AND "));
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
      union all
      select ${columns} from matches cross join workspaces as v
        where matches.number > ${fewMax} and v.organization_id = ${organizationId})`;
  },
  counted: (organizationId, part) => sql<number>`(
    (select count(*) ${indexedNumbers(organizationId, phrase(part))})
    + (select count(*) ${waitingNames(organizationId, [part])}))`,
};

export const postgresNames: NameIndex = {
  candidates: (columns, { organizationId, parts }) => {
    const contain = parts.map(
      (part) => sql<SqlBool>`workspace_name_parts(v.organization_id, v.name_key)
        @> workspace_name_parts(${organizationId}, ${part})`,
    );
    return sql`(select ${columns} from workspaces as v
      where v.organization_id = ${organizationId} and ${sql.join(contain, sql` and `)})`;
  },
};
