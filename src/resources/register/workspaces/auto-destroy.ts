/** Destruction of inactive workspaces: what a workspace says itself, and what it inherits from its project. */
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";

export interface AutoDestroyInput {
  readonly autoDestroyAt?: string | null | undefined;
  readonly autoDestroyActivityDuration?: string | null | undefined;
  readonly inheritsProjectAutoDestroy?: boolean | undefined;
}

export type AutoDestroyColumns = Pick<
  WorkspaceTable,
  "autoDestroyAt" | "autoDestroyActivityDuration" | "inheritsProjectAutoDestroy"
>;

/** A workspace that says nothing itself. */
export function inheriting(projectDuration: string | null): AutoDestroyColumns {
  return { autoDestroyAt: null, autoDestroyActivityDuration: projectDuration, inheritsProjectAutoDestroy: 1 };
}

export function autoDestroyFaults(input: AutoDestroyInput): Fault[] {
  const own = (input.autoDestroyActivityDuration ?? input.autoDestroyAt ?? null) !== null;
  if (input.inheritsProjectAutoDestroy !== true || !own) return [];
  return [
    attributeFault(
      "inherits-project-auto-destroy",
      "Inherits project auto destroy can't be true together with a value of the workspace's own",
    ),
  ];
}

/** The columns after the change: an absent key keeps, null clears, a value of its own is an override. */
export function applyAutoDestroy(
  before: AutoDestroyColumns,
  input: AutoDestroyInput,
  projectDuration: string | null,
): AutoDestroyColumns {
  if (input.inheritsProjectAutoDestroy === true) return inheriting(projectDuration);
  const { autoDestroyAt, autoDestroyActivityDuration, inheritsProjectAutoDestroy } = before;
  const after = { autoDestroyAt, autoDestroyActivityDuration, inheritsProjectAutoDestroy };
  if (input.autoDestroyAt !== undefined) {
    after.autoDestroyAt = input.autoDestroyAt;
    // A time that somebody chose replaces a duration; taking it away brings none back.
    if (input.autoDestroyAt !== null)
      Object.assign(after, { autoDestroyActivityDuration: null, inheritsProjectAutoDestroy: 0 });
  }
  if (input.autoDestroyActivityDuration !== undefined) {
    Object.assign(after, {
      autoDestroyActivityDuration: input.autoDestroyActivityDuration,
      inheritsProjectAutoDestroy: 0,
    });
    if (input.autoDestroyAt === undefined) after.autoDestroyAt = null;
  }
  if (input.inheritsProjectAutoDestroy === false) after.inheritsProjectAutoDestroy = 0;
  return after;
}

/** In another project, what is inherited is that project's. */
export function movedTo(projectDuration: string | null, before: AutoDestroyColumns): Partial<AutoDestroyColumns> {
  return before.inheritsProjectAutoDestroy === 1 ? inheriting(projectDuration) : {};
}
