/** Pure rules of moves. */
import { grant, type Granted } from "../../../access/granted.ts";
import { projectPermissions, projectRightNeeds, projectRightsOf } from "../../../access/permissions/project.ts";
import { forbidden } from "../../../kernel/errors.ts";
import type { ProjectView } from "../projects/definition.ts";
import type { Moved } from "../projects/writes.ts";
import type { MovingRow } from "./store.ts";

const moving = "can-move-workspaces";

/** The specification lists 404 and no 403 for whoever may not move workspaces into a project. Raises `not-found`. */
export function grantDestination(project: ProjectView): Granted<ProjectView, typeof moving> {
  return grant(project, {
    thing: "project",
    permission: moving,
    visible: projectPermissions(project.access)["can-read"],
    allowed: projectRightsOf(project.access)[moving],
    needs: projectRightNeeds[moving],
    otherwise: "hide",
  });
}

const namedMax = 5;

/** Raises `forbidden`, and one word for a workspace that is foreign, unknown or not to be moved; else all may be moved. */
export function grantMove(
  wanted: readonly string[],
  found: readonly MovingRow[],
  projects: readonly ProjectView[],
): readonly Granted<MovingRow, typeof moving>[] {
  const open = new Set(projects.filter(({ access }) => projectRightsOf(access)[moving]).map(({ id }) => id));
  const movable = new Set(found.filter(({ projectId }) => open.has(projectId)).map(({ id }) => id));
  const stuck = wanted.filter((id) => !movable.has(id));
  if (stuck.length > 0) {
    const more = stuck.length > namedMax ? ` and ${stuck.length - namedMax} more` : "";
    throw forbidden(
      `Nothing was moved: ${stuck.slice(0, namedMax).join(", ")}${more} can't be found, or you may not move them out of their projects: that needs ${projectRightNeeds[moving]} (${moving}).`,
    );
  }
  return found.map((row) =>
    grant(row, {
      thing: "workspace",
      permission: moving,
      visible: true,
      allowed: open.has(row.projectId),
      needs: projectRightNeeds[moving],
    }),
  );
}

/** How many leave each project. */
export function movedOf(leaving: readonly MovingRow[], to: string): Moved[] {
  const counts = new Map<string, number>();
  for (const { projectId } of leaving) counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
  return [...counts].map(([from, count]) => ({ from, to, count }));
}

/** What the audit event of a move tells of each workspace, before or after. */
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
