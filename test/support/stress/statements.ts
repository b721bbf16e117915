/** Derives the rows that a statement locks on PostgreSQL from its text and the foreign keys. */
import pg from "pg";

export type Purpose = "reference" | "change" | "removal";

export interface Lock {
  readonly table: string;
  readonly purpose: Purpose;
  /** False for `skip locked`. */
  readonly waits: boolean;
  /** One row, or several ordered by id. */
  readonly isOrdered: boolean;
  /** The ids of a foreign key that takes the lock. */
  readonly referred?: readonly unknown[];
  /** A row that is deleted or changed with its parent. */
  readonly isCascaded?: boolean;
  /** By a SELECT: the rows need not be locked yet. */
  readonly isLocking: boolean;
}

interface ForeignKey {
  readonly child: string;
  readonly column: string;
  readonly parent: string;
  readonly onDelete: "cascade" | "set null" | "nothing";
}

export type Relations = readonly ForeignKey[];

export async function relationsOf(address: string): Promise<Relations> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    const { rows } = await client.query<ForeignKey & { action: string }>(`
      select c.conrelid::regclass::text as child, a.attname as column, c.confrelid::regclass::text as parent,
        c.confdeltype as action
      from pg_constraint as c inner join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
      where c.contype = 'f' order by c.oid`);
    const actions: Record<string, ForeignKey["onDelete"]> = { c: "cascade", n: "set null" };
    return rows.map(({ child, column, parent, action }) => ({
      child,
      column,
      parent,
      onDelete: actions[action] ?? "nothing",
    }));
  } finally {
    await client.end();
  }
}

const purposes: Readonly<Record<string, Purpose>> = {
  "key share": "reference",
  "no key update": "change",
  update: "removal",
};

const plain = { waits: true, isOrdered: true, isLocking: false };

const viewPrefix = "open_";

const tidy = (statement: string) => statement.replaceAll('"', "").replaceAll(/\s+/g, " ").trim();

export function locksOf(statement: string, values: readonly unknown[], relations: Relations): Lock[] {
  const text = tidy(statement);
  if (text.startsWith("insert into ")) return referencesOf(text, values, relations);
  if (text.startsWith("update ")) return changesOf(text, values, relations);
  if (text.startsWith("delete from ")) return [...lockingClauses(text), ...removalsOf(text, relations)];
  return lockingClauses(text);
}

function lockingClauses(text: string): Lock[] {
  const aliases = new Map(
    [...text.matchAll(/(?:from|join) (\w+) as (\w+)/g)].map(([, table = "", alias = ""]) => [alias, table]),
  );
  const clauses = [...text.matchAll(/for (key share|no key update|update) of (\w+)( skip locked)?/g)];
  const isOfView = ([, , alias = ""]: readonly string[]) => aliases.get(alias)?.startsWith(viewPrefix) === true;
  // PostgreSQL locks the rows behind a view after those of the statement's own tables.
  return [...clauses.filter((clause) => !isOfView(clause)), ...clauses.filter(isOfView)].map(
    ([, purpose = "", alias = "", skips]) => ({
      ...plain,
      table: (aliases.get(alias) ?? alias).replace(viewPrefix, ""),
      purpose: purposes[purpose] as Purpose,
      waits: skips === undefined,
      isOrdered:
        alias === "o" ||
        isSingle(text, alias) ||
        new RegExp(`order by ${alias}\\.(id|workspace_id)\\b`).test(text) ||
        skips !== undefined,
      isLocking: true,
    }),
  );
}

function isSingle(text: string, alias: string): boolean {
  return /where [^;]*\b(\w+)\.(id|name_key|name) = \$\d+/.test(text) || text.includes(`where ${alias}.id = `);
}

/** A null foreign key refers to nothing; one that is not a parameter may refer to anything. */
function referencesOf(text: string, values: readonly unknown[], relations: Relations): Lock[] {
  const { child, columns, rows } = inserted(text, values);
  return relations
    .filter((key) => key.child === child)
    .flatMap(({ parent, column }) => {
      const ids = rows.length === 0 ? [undefined] : rows.map((row) => row[columns.indexOf(column)]);
      return reference(parent, ids);
    });
}

function inserted(text: string, values: readonly unknown[]) {
  const [, child, list = ""] = /^insert into (\w+) \(([^)]*)\)/.exec(text) ?? [];
  const rows = [...text.matchAll(/\((\$\d+(?:, \$\d+)*)\)/g)].map(([, parameters = ""]) =>
    parameters.split(", ").map((parameter) => values[Number(parameter.slice(1)) - 1]),
  );
  return { child, columns: list.split(", "), rows };
}

export function idsInsertedBy(statement: string, values: readonly unknown[]): string[] {
  const text = tidy(statement);
  if (!text.startsWith("insert into ")) return [];
  const { columns, rows } = inserted(text, values);
  return rows.map((row) => String(row[columns.indexOf("id")]));
}

function reference(table: string, ids: readonly unknown[]): Lock[] {
  const referred = ids.filter((value) => value !== null);
  return referred.length === 0 ? [] : [{ ...plain, table, purpose: "reference", referred }];
}

function changesOf(text: string, values: readonly unknown[], relations: Relations): Lock[] {
  const [, table = "", set = "", where = ""] = /^update (\w+) set (.*?) where (.*)$/.exec(text) ?? [];
  const changed: Lock = { ...plain, table, purpose: "change", isOrdered: /\bid = \$\d+/.test(where) };
  const referred = relations
    .filter(({ child }) => child === table)
    .flatMap(({ parent, column }) => {
      const parameter = new RegExp(`\\b${column} = \\$(\\d+)`).exec(set)?.[1];
      return parameter === undefined ? [] : reference(parent, [values[Number(parameter) - 1]]);
    });
  return [changed, ...referred];
}

function removalsOf(text: string, relations: Relations): Lock[] {
  const [, table = "", where = ""] = /^delete from (\w+)(?: where (.*))?$/.exec(text) ?? [];
  const own: Lock = { ...plain, table, purpose: "removal", isOrdered: /\bid = \$\d+/.test(where) };
  const seen = new Set([table]);
  const following: Lock[] = [];
  const follow = (parent: string) => {
    for (const { child, onDelete, parent: of } of relations) {
      if (of !== parent || onDelete === "nothing" || seen.has(child)) continue;
      seen.add(child);
      following.push({
        ...plain,
        table: child,
        purpose: onDelete === "cascade" ? "removal" : "change",
        isCascaded: true,
      });
      if (onDelete === "cascade") follow(child);
    }
  };
  follow(table);
  return [own, ...following];
}
