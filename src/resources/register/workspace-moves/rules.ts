/** Pure rules of moves. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { projectPermissions, projectRightNeeds, projectRightsOf } from "../../../access/permissions/project.ts";
import { forbidden } from "../../../kernel/errors.ts";
import type { ProjectView } from "../projects/definition.ts";
import type { WorkspaceMoveCount } from "../projects/writes.ts";
import type { MovingRow } from "./store.ts";

const movePermission = "can-move-workspaces";

/** Throws `not-found`: the specification lists no 403 for these callers. */
export function authorizeDestination(project: ProjectView): Granted<ProjectView, typeof movePermission> {
  return authorize(project, {
    thing: "project",
    permission: movePermission,
    visible: projectPermissions(project.access)["can-read"],
    allowed: projectRightsOf(project.access)[movePermission],
    needs: projectRightNeeds[movePermission],
    whenDenied: "hide",
  });
}

const listedIdsMax = 5;

/** The message must not distinguish unknown workspaces from those that the caller can't move. Throws `forbidden`. */
export function authorizeMove(
  requested: readonly string[],
  rows: readonly MovingRow[],
  projects: readonly ProjectView[],
): readonly Granted<MovingRow, typeof movePermission>[] {
  const movableProjectIds = new Set(
    projects.filter(({ access }) => projectRightsOf(access)[movePermission]).map(({ id }) => id),
  );
  const movableIds = new Set(rows.filter(({ projectId }) => movableProjectIds.has(projectId)).map(({ id }) => id));
  const refused = requested.filter((id) => !movableIds.has(id));
  if (refused.length > 0) {
    const more = refused.length > listedIdsMax ? ` and ${refused.length - listedIdsMax} more` : "";
    throw forbidden(
      `Nothing was moved: ${refused.slice(0, listedIdsMax).join(", ")}${more} can't be found, or you can't move them out of their projects. Moving needs ${projectRightNeeds[movePermission]} (${movePermission}).`,
    );
  }
  return rows.map((row) =>
    authorize(row, {
      thing: "workspace",
      permission: movePermission,
      visible: true,
      allowed: movableProjectIds.has(row.projectId),
      needs: projectRightNeeds[movePermission],
    }),
  );
}

export function moveCountsOf(movedWorkspaces: readonly MovingRow[], to: string): WorkspaceMoveCount[] {
  const counts = new Map<string, number>();
  for (const { projectId } of movedWorkspaces) counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
  return [...counts].map(([from, count]) => ({ from, to, count }));
}

export function auditedMove(
  movedWorkspaces: readonly MovingRow[],
  stateOf: (row: MovingRow) => Pick<MovingRow, "projectId" | "autoDestroyActivityDuration">,
): object {
  return {
    workspaces: movedWorkspaces.map((row) => {
      const { projectId, autoDestroyActivityDuration } = stateOf(row);
      return {
        id: row.id,
        name: row.name,
        project: projectId,
        "auto-destroy-activity-duration": autoDestroyActivityDuration,
      };
    }),
  };
}
