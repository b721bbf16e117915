/**
 * What `include` adds to a document: each name is a relationship of its definition, and the loader of the related type, which `resources/index.ts`
 * registers, loads what the relationship leads to.
 */
import type { Tx } from "../../database/database.ts";
import type { Included, ResourceDefinition } from "../../jsonapi/define.ts";
import type { Relationship } from "../../jsonapi/relationships.ts";
import type { Context } from "./context.ts";

/**
 * Returns those of the things that the caller may read, in a constant number of statements. `parents` has, for each id, a view whose
 * relationship names it: for things that are stored under their parent, or are readable to everybody who may read the parent.
 */
export type LoadMany<Parent = never> = (
  tx: Tx,
  context: Context,
  ids: readonly string[],
  parents: ReadonlyMap<string, Parent>,
) => Promise<readonly object[]>;

export interface Loader {
  readonly definition: ResourceDefinition;
  readonly loadMany: LoadMany;
}

/** Things of one type, with the same further names asked for beside them. */
interface Group {
  readonly type: string;
  readonly further: ReadonlySet<string>;
  readonly parents: Map<string, unknown>;
}

/** Undefined when nothing was asked for. `mayShow` leaves out what the caller may not learn by this view, or what is loaded otherwise. */
export async function loadIncluded<View>(
  tx: Tx,
  context: Context,
  definition: ResourceDefinition,
  views: readonly View[],
  wanted: ReadonlySet<string>,
  mayShow: (view: View, name: string) => boolean = () => true,
): Promise<Included[] | undefined> {
  if (wanted.size === 0) return undefined;
  const included: Included[] = [];
  for (const { type, further, parents } of groupsOf(definition, views, wanted, mayShow)) {
    const loader = context.hooks.loaders.get(type);
    if (loader === undefined) throw new Error(`${type} can't be included: add a loader for them in resources/index.ts`);
    const loaded = await loader.loadMany(
      tx,
      context,
      [...parents.keys()],
      parents as ReadonlyMap<string, unknown> as ReadonlyMap<string, never>,
    );
    included.push(...loaded.map((view) => ({ definition: loader.definition, view })));
    included.push(...((await loadIncluded(tx, context, loader.definition, loaded, further)) ?? []));
  }
  return included;
}

function groupsOf<View>(
  definition: ResourceDefinition,
  views: readonly View[],
  wanted: ReadonlySet<string>,
  mayShow: (view: View, name: string) => boolean,
): Iterable<Group> {
  const groups = new Map<string, Group>();
  for (const [key, relationship] of Object.entries(definition.relationships)) {
    const name = key.replaceAll("-", "_");
    const further = furtherNames(name, wanted);
    if (further === undefined) continue;
    for (const view of views.filter((each) => mayShow(each, name)))
      for (const [type, id] of linksOf(relationship, view)) {
        const groupKey = [type, ...further].join(" ");
        const group = groups.get(groupKey) ?? { type, further, parents: new Map<string, unknown>() };
        if (!group.parents.has(id)) group.parents.set(id, view);
        groups.set(groupKey, group);
      }
  }
  return groups.values();
}

/** `current_run` of `current_run.plan`: `plan`. Undefined where the name was not asked for. */
function furtherNames(name: string, wanted: ReadonlySet<string>): ReadonlySet<string> | undefined {
  // Some names are spelled as the document spells them, with hyphens.
  const asked = [...wanted]
    .map((each) => each.replaceAll("-", "_"))
    .filter((each) => `${each}.`.startsWith(`${name}.`));
  return asked.length === 0 ? undefined : new Set(asked.flatMap((each) => each.slice(name.length + 1) || []));
}

function linksOf(relationship: Relationship, view: unknown): [type: string, id: string][] {
  const usual = relationship.types[0] ?? "";
  if (relationship.many) return (relationship.ids?.(view as never) ?? []).map((id) => [usual, id]);
  const id = relationship.id?.(view as never);
  return id == null ? [] : [[relationship.type?.(view as never) ?? usual, id]];
}
