/** Pure rules of tags. */
import { type Fault, invalid } from "../../../kernel/errors.ts";
import { tagName } from "./definition.ts";

export interface TagItem {
  readonly id?: string | undefined;
  readonly attributes?: { readonly name?: string | undefined } | undefined;
}

/** Limits the size of a page of workspaces, each of which shows its tags. */
const tagsMax = 250;

/** A workspace's row stores its tag names joined by commas. */
export const splitTagNames = (tagNames: string): readonly string[] => (tagNames === "" ? [] : tagNames.split(","));

export const joinTagNames = (tags: readonly { readonly name: string }[]): string =>
  tags
    .map(({ name }) => name)
    .toSorted()
    .join(",");

export function refuseTooManyTags(tagNames: string, added: number): void {
  const count = splitTagNames(tagNames).length + added;
  if (count > tagsMax)
    throw invalid([
      {
        pointer: "/data",
        detail: `A workspace can have at most ${tagsMax} tags; the request would result in ${count}`,
      },
    ]);
}

/** The id takes precedence over the name; in `resolveTags` the name does. */
export function tagReferencesIn(items: readonly TagItem[]): { ids: string[]; names: string[] } {
  return {
    ids: items.flatMap((item) => item.id ?? []),
    names: items.flatMap((item) => (item.id === undefined ? (item.attributes?.name ?? []) : [])),
  };
}

export function nameFaults(items: readonly TagItem[], pointer: string): Fault[] {
  return items.flatMap((item, index) => {
    const parsed = item.attributes?.name === undefined ? undefined : tagName.safeParse(item.attributes.name);
    return parsed?.success === false
      ? [{ pointer: `${pointer}/${index}/attributes/name`, detail: `Name ${parsed.error.issues[0]?.message}` }]
      : [];
  });
}

export function unknownIdFaults(items: readonly TagItem[], known: ReadonlySet<string>, pointer = "/data"): Fault[] {
  return items.flatMap(({ id }, index) =>
    id === undefined || known.has(id)
      ? []
      : [{ pointer: `${pointer}/${index}/id`, detail: `Tag '${id}' does not exist in this organization` }],
  );
}
