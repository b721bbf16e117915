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

/** One that says something itself, be it that it is never destroyed. */
function own({
  autoDestroyAt = null,
  autoDestroyActivityDuration = null,
}: Partial<AutoDestroyColumns> = {}): AutoDestroyColumns {
  return { autoDestroyAt, autoDestroyActivityDuration, inheritsProjectAutoDestroy: 0 };
}

/**
 * The duration in force is the project's where it is inherited, whatever the workspace's own row holds: so a project's new one
 * rewrites no workspace. See docs/decisions/0081-a-projects-duration-is-resolved-when-read.md.
 */
export function durationInForce(
  workspace: Pick<WorkspaceTable, "autoDestroyActivityDuration" | "inheritsProjectAutoDestroy"> & {
    readonly projectDuration: string | null;
  },
): string | null {
  return workspace.inheritsProjectAutoDestroy === 1 ? workspace.projectDuration : workspace.autoDestroyActivityDuration;
}

/** A workspace that inherits no longer goes on with what it inherited, which its own row need not hold yet. */
export function ownDuration(
  before: AutoDestroyColumns,
  after: AutoDestroyColumns,
): Partial<Pick<AutoDestroyColumns, "autoDestroyActivityDuration">> {
  const { autoDestroyActivityDuration } = after;
  return before.inheritsProjectAutoDestroy === after.inheritsProjectAutoDestroy ? {} : { autoDestroyActivityDuration };
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

/** The columns after the change: an absent key keeps, a value of its own is an override, and no time ends the schedule. */
export function applyAutoDestroy(
  before: AutoDestroyColumns,
  input: AutoDestroyInput,
  projectDuration: string | null,
): AutoDestroyColumns {
  const { autoDestroyAt: at, autoDestroyActivityDuration: duration, inheritsProjectAutoDestroy: inherits } = input;
  if (inherits === true) return inheriting(projectDuration);
  if (duration !== undefined) return own({ autoDestroyAt: at ?? null, autoDestroyActivityDuration: duration });
  if (at === null) return inherits === false ? own() : inheriting(projectDuration);
  if (at !== undefined) return own({ autoDestroyAt: at });
  return { ...own(before), inheritsProjectAutoDestroy: inherits === false ? 0 : before.inheritsProjectAutoDestroy };
}

/** Whoever gives a new schedule begins anew, whatever became of the last. */
export function statusAfter(
  { autoDestroyStatus }: Pick<WorkspaceTable, "autoDestroyStatus">,
  input: AutoDestroyInput,
): Partial<Pick<WorkspaceTable, "autoDestroyStatus">> {
  const { autoDestroyAt: at, autoDestroyActivityDuration: duration, inheritsProjectAutoDestroy: inherits } = input;
  const isNew = at !== undefined || duration !== undefined || inherits !== undefined;
  return isNew && autoDestroyStatus === "errored" ? { autoDestroyStatus: null } : {};
}

/** In another project, what is inherited is that project's. */
export function movedTo(projectDuration: string | null, before: AutoDestroyColumns): Partial<AutoDestroyColumns> {
  return before.inheritsProjectAutoDestroy === 1 ? inheriting(projectDuration) : {};
}
