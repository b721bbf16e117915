/** The one meaning of a text search in a list: every word of it is in the text, in any order, ignoring case. */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { searchWords } from "../kernel/text.ts";
import type { Dialect } from "./dialect.ts";

/**
 * Each word is in one of the texts, which are folded as the words are. Wildcards of SQL are letters like others. A search
 * of nothing but blanks matches everything.
 */
export function containsWords(
  { contains }: Pick<Dialect, "contains">,
  texts: readonly Expression<string>[],
  search: string,
  folded?: (text: string) => string,
): RawBuilder<SqlBool> {
  const inOne = (word: string) =>
    sql<SqlBool>`(${sql.join(
      texts.map((text) => contains(text, word)),
      sql` or `,
    )})`;
  const words = searchWords(search, folded);
  return words.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join(words.map(inOne), sql` and `)}`;
}
