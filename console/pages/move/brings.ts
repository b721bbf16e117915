/** What a move changes beside access: the tags and variable sets that a workspace has from its project. Pure. */
import type { Resource } from "../../api/client.ts";

export interface Tag {
  readonly key: string;
  readonly value: string;
}

/** A workspace that may be moved, with the tags that are in effect on it. */
export interface Moved {
  readonly id: string;
  readonly name: string;
  readonly project: { readonly id: string; readonly name: string };
  readonly tags: readonly (Tag & { readonly isInherited: boolean })[];
}

export interface Brought {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

const written = ({ key, value }: Tag) => (value === "" ? key : `${key}: ${value}`);

/** A workspace's own tag wins over its project's of the same key, before and after. */
export function tagsBrought({ tags }: Moved, there: readonly Tag[]): Brought {
  const own = new Set(tags.filter(({ isInherited }) => !isInherited).map(({ key }) => key));
  const before = tags.filter(({ isInherited }) => isInherited).map(written);
  const after = there.filter(({ key }) => !own.has(key)).map(written);
  return {
    gained: after.filter((tag) => !before.includes(tag)),
    lost: before.filter((tag) => !after.includes(tag)),
  };
}

type Varset = Resource<"varsets">;

const names = (set: Varset, kind: "projects" | "workspaces", id: string) =>
  (set.relationships[kind]?.data ?? []).some((one) => one.id === id);
/** A set that a project owns applies within it alone. */
const isOwned = (set: Varset) => (set.relationships.parent?.data as { type?: string } | undefined)?.type === "projects";
const isKept = (set: Varset, workspace: string) => !isOwned(set) && names(set, "workspaces", workspace);

/** What applies to all stays; and so does what applies to the workspace by itself. */
export function setsBrought(
  { id, project }: Moved,
  here: readonly Varset[],
  there: readonly Varset[],
  target: string,
): Brought {
  const applied = here.filter(
    (set) =>
      !set.attributes.global && (names(set, "projects", project.id) || (isOwned(set) && names(set, "workspaces", id))),
  );
  const applying = there.filter((set) => !set.attributes.global && names(set, "projects", target));
  const without = (some: readonly Varset[], others: readonly Varset[]) =>
    some
      .filter((set) => !others.some((other) => other.id === set.id) && !isKept(set, id))
      .map(({ attributes }) => attributes.name);
  return { gained: without(applying, applied), lost: without(applied, applying) };
}
