/** Loads included resources. */
import type { Tx } from "../../database/database.ts";
import type { IncludedResource, ResourceDefinition } from "../../jsonapi/define.ts";
import type { Relationship } from "../../jsonapi/relationships.ts";
import type { Context } from "./context.ts";

/** Returns the resources that the caller can read, in a constant number of statements. `parents`: for each id, a view that refers to it. */
export type LoadMany<Parent = never> = (
  tx: Tx,
  context: Context,
  ids: readonly string[],
  parents: ReadonlyMap<string, Parent>,
) => Promise<readonly object[]>;

export interface IncludeLoader {
  readonly definition: ResourceDefinition;
  readonly loadMany: LoadMany;
}

interface IncludeGroup {
  readonly type: string;
  readonly nested: ReadonlySet<string>;
  readonly parents: Map<string, unknown>;
}

/** For `changesWith`: included resources can depend on other organizations. */
export const changesWithin = (organizationId: string, include: ReadonlySet<string>): string | undefined =>
  include.size === 0 ? organizationId : undefined;

/** Undefined if nothing was requested. `canShow` leaves out what the caller can't see through this view, or what is loaded separately. */
export async function loadIncluded<View>(
  tx: Tx,
  context: Context,
  definition: ResourceDefinition,
  views: readonly View[],
  requested: ReadonlySet<string>,
  canShow: (view: View, name: string) => boolean = () => true,
): Promise<IncludedResource[] | undefined> {
  if (requested.size === 0) return undefined;
  const included: IncludedResource[] = [];
  for (const { type, nested, parents } of groupsOf(definition, views, requested, canShow)) {
    const loader = context.hooks.loaders.get(type);
    if (loader === undefined) throw new Error(`${type} can't be included: add a loader for them in resources/index.ts`);
    const loaded = await loader.loadMany(
      tx,
      context,
      [...parents.keys()],
      parents as ReadonlyMap<string, unknown> as ReadonlyMap<string, never>,
    );
    included.push(...loaded.map((view) => ({ definition: loader.definition, view })));
    included.push(...((await loadIncluded(tx, context, loader.definition, loaded, nested)) ?? []));
  }
  return included;
}

function groupsOf<View>(
  definition: ResourceDefinition,
  views: readonly View[],
  requested: ReadonlySet<string>,
  canShow: (view: View, name: string) => boolean,
): Iterable<IncludeGroup> {
  const groups = new Map<string, IncludeGroup>();
  for (const [key, relationship] of Object.entries(definition.relationships)) {
    const name = key.replaceAll("-", "_");
    const nested = nestedNames(name, requested);
    if (nested === undefined) continue;
    for (const view of views.filter((each) => canShow(each, name)))
      for (const [type, id] of linksOf(relationship, view)) {
        const groupKey = [type, ...nested].join(" ");
        const group = groups.get(groupKey) ?? { type, nested, parents: new Map<string, unknown>() };
        if (!group.parents.has(id)) group.parents.set(id, view);
        groups.set(groupKey, group);
      }
  }
  return groups.values();
}

/** Of `current_run.plan`: `plan`. Undefined if not requested. */
function nestedNames(name: string, requested: ReadonlySet<string>): ReadonlySet<string> | undefined {
  const matching = [...requested]
    .map((each) => each.replaceAll("-", "_"))
    .filter((each) => `${each}.`.startsWith(`${name}.`));
  return matching.length === 0 ? undefined : new Set(matching.flatMap((each) => each.slice(name.length + 1) || []));
}

function linksOf(relationship: Relationship, view: unknown): [type: string, id: string][] {
  const defaultType = relationship.types[0] ?? "";
  if (relationship.many) return (relationship.ids?.(view as never) ?? []).map((id) => [defaultType, id]);
  const id = relationship.id?.(view as never);
  return id == null ? [] : [[relationship.type?.(view as never) ?? defaultType, id]];
}
