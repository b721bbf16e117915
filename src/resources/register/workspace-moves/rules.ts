/** Pure rules of moves. */
import { grant, type Granted } from "../../../access/granted.ts";
import { projectPermissions, projectRightNeeds, projectRightsOf } from "../../../access/permissions/project.ts";
import { forbidden } from "../../../kernel/errors.ts";
import type { ProjectView } from "../projects/definition.ts";
import type { WorkspaceMoveCount } from "../projects/writes.ts";
import type { MovingRow } from "./store.ts";

const movePermission = "can-move-workspaces";

/** Raises `not-found`: the specification lists no 403 for these callers. */
export function grantDestination(project: ProjectView): Granted<ProjectView, typeof movePermission> {
  return grant(project, {
    thing: "project",
    permission: movePermission,
    visible: projectPermissions(project.access)["can-read"],
    allowed: projectRightsOf(project.access)[movePermission],
    needs: projectRightNeeds[movePermission],
    otherwise: "hide",
  });
}

const namedMax = 5;

/** The message must not distinguish unknown workspaces from those that the caller can't move. Raises `forbidden`. */
export function grantMove(
  requested: readonly string[],
  rows: readonly MovingRow[],
  projects: readonly ProjectView[],
): readonly Granted<MovingRow, typeof movePermission>[] {
  const open = new Set(projects.filter(({ access }) => projectRightsOf(access)[movePermission]).map(({ id }) => id));
  const movable = new Set(rows.filter(({ projectId }) => open.has(projectId)).map(({ id }) => id));
  const refused = requested.filter((id) => !movable.has(id));
  if (refused.length > 0) {
    const more = refused.length > namedMax ? ` and ${refused.length - namedMax} more` : "";
    throw forbidden(
      `Nothing was moved: ${refused.slice(0, namedMax).join(", ")}${more} can't be found, or you can't move them out of their projects. Moving needs ${projectRightNeeds[movePermission]} (${movePermission}).`,
    );
  }
  return rows.map((row) =>
    grant(row, {
      thing: "workspace",
      permission: movePermission,
      visible: true,
      allowed: open.has(row.projectId),
      needs: projectRightNeeds[movePermission],
    }),
  );
}

export function moveCountsOf(leaving: readonly MovingRow[], to: string): WorkspaceMoveCount[] {
  const counts = new Map<string, number>();
  for (const { projectId } of leaving) counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
  return [...counts].map(([from, count]) => ({ from, to, count }));
}

export function auditedMove(
  leaving: readonly MovingRow[],
  stateOf: (row: MovingRow) => Pick<MovingRow, "projectId" | "autoDestroyActivityDuration">,
): object {
  return {
    workspaces: leaving.map((row) => {
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
