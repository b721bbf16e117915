/** Pure rules of tags. */
import { type Fault, invalid } from "../../../kernel/errors.ts";
import { tagName } from "./definition.ts";

/** A tag as callers send it: by name, or by the id of one that the organization has. */
export interface TagItem {
  readonly id?: string | undefined;
  readonly attributes?: { readonly name?: string | undefined } | undefined;
}

/** So many that nobody misses one, and so few that a page of workspaces stays a page. */
const tagsMax = 250;

/** The names on a workspace's row. */
export const namesIn = (tagNames: string): readonly string[] => (tagNames === "" ? [] : tagNames.split(","));

/** Names as a workspace's row holds them. */
export const joinedNames = (tags: readonly { readonly name: string }[]): string =>
  tags
    .map(({ name }) => name)
    .toSorted()
    .join(",");

/** Raises `invalid` where a workspace would carry too many. */
export function refuseTooMany(tagNames: string, added: number): void {
  const count = namesIn(tagNames).length + added;
  if (count > tagsMax)
    throw invalid([
      { pointer: "/data", detail: `A workspace carries at most ${tagsMax} tags; this would make ${count}` },
    ]);
}

/** Of items with an id the id counts, and of others the name. */
export function namedIn(items: readonly TagItem[]): { ids: string[]; names: string[] } {
  return {
    ids: items.flatMap((item) => item.id ?? []),
    names: items.flatMap((item) => (item.id === undefined ? (item.attributes?.name ?? []) : [])),
  };
}

/** Names that no tag can have. */
export function nameFaults(items: readonly TagItem[], pointer: string): Fault[] {
  return items.flatMap((item, index) => {
    const parsed = item.attributes?.name === undefined ? undefined : tagName.safeParse(item.attributes.name);
    return parsed?.success === false
      ? [{ pointer: `${pointer}/${index}/attributes/name`, detail: `Name ${parsed.error.issues[0]?.message}` }]
      : [];
  });
}

/** An id must exist. */
export function unknownIds(items: readonly TagItem[], known: ReadonlySet<string>, pointer = "/data"): Fault[] {
  return items.flatMap(({ id }, index) =>
    id === undefined || known.has(id)
      ? []
      : [{ pointer: `${pointer}/${index}/id`, detail: `Tag '${id}' does not exist in this organization` }],
  );
}
