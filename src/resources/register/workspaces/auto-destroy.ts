/** Auto-destroy settings of a workspace: its own, or inherited from its project. */
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

export function inheritedAutoDestroy(projectDuration: string | null): AutoDestroyColumns {
  return { autoDestroyAt: null, autoDestroyActivityDuration: projectDuration, inheritsProjectAutoDestroy: 1 };
}

function ownAutoDestroy({
  autoDestroyAt = null,
  autoDestroyActivityDuration = null,
}: Partial<AutoDestroyColumns> = {}): AutoDestroyColumns {
  return { autoDestroyAt, autoDestroyActivityDuration, inheritsProjectAutoDestroy: 0 };
}

/** Changing a project's duration rewrites no workspace. See docs/decisions/0019-inherited-settings-are-resolved-on-read.md. */
export function effectiveDuration(
  workspace: Pick<WorkspaceTable, "autoDestroyActivityDuration" | "inheritsProjectAutoDestroy"> & {
    readonly projectDuration: string | null;
  },
): string | null {
  return workspace.inheritsProjectAutoDestroy === 1 ? workspace.projectDuration : workspace.autoDestroyActivityDuration;
}

/** A workspace that stops inheriting keeps the inherited duration, which must then be written to its own row. */
export function retainedDuration(
  before: AutoDestroyColumns,
  after: AutoDestroyColumns,
): Partial<Pick<AutoDestroyColumns, "autoDestroyActivityDuration">> {
  const { autoDestroyActivityDuration } = after;
  return before.inheritsProjectAutoDestroy === after.inheritsProjectAutoDestroy ? {} : { autoDestroyActivityDuration };
}

export function autoDestroyFaults(input: AutoDestroyInput): Fault[] {
  const hasSchedule = (input.autoDestroyActivityDuration ?? input.autoDestroyAt ?? null) !== null;
  if (input.inheritsProjectAutoDestroy !== true || !hasSchedule) return [];
  return [
    attributeFault(
      "inherits-project-auto-destroy",
      "Inherits project auto destroy can't be true together with a schedule for this workspace; send one of them",
    ),
  ];
}

/** Null for `autoDestroyAt` ends the schedule. */
export function autoDestroyAfter(
  before: AutoDestroyColumns,
  input: AutoDestroyInput,
  projectDuration: string | null,
): AutoDestroyColumns {
  const { autoDestroyAt: at, autoDestroyActivityDuration: duration, inheritsProjectAutoDestroy: inherits } = input;
  if (inherits === true) return inheritedAutoDestroy(projectDuration);
  if (duration !== undefined)
    return ownAutoDestroy({ autoDestroyAt: at ?? null, autoDestroyActivityDuration: duration });
  if (at === null) return inherits === false ? ownAutoDestroy() : inheritedAutoDestroy(projectDuration);
  if (at !== undefined) return ownAutoDestroy({ autoDestroyAt: at });
  return {
    ...ownAutoDestroy(before),
    inheritsProjectAutoDestroy: inherits === false ? 0 : before.inheritsProjectAutoDestroy,
  };
}

/** A new schedule clears the error of the previous one. */
export function autoDestroyStatusAfter(
  { autoDestroyStatus }: Pick<WorkspaceTable, "autoDestroyStatus">,
  input: AutoDestroyInput,
): Partial<Pick<WorkspaceTable, "autoDestroyStatus">> {
  const { autoDestroyAt: at, autoDestroyActivityDuration: duration, inheritsProjectAutoDestroy: inherits } = input;
  const isNew = at !== undefined || duration !== undefined || inherits !== undefined;
  return isNew && autoDestroyStatus === "errored" ? { autoDestroyStatus: null } : {};
}

export function autoDestroyAfterMove(
  projectDuration: string | null,
  before: AutoDestroyColumns,
): Partial<AutoDestroyColumns> {
  return before.inheritsProjectAutoDestroy === 1 ? inheritedAutoDestroy(projectDuration) : {};
}
