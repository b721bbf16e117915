/** Moves workspaces between projects: load → authorize → decide → write. */
import { notFound } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { loadProject, lockProjects } from "../projects/reads.ts";
import { moveWorkspaceCounts } from "../projects/writes.ts";
import { implement } from "../../shared/context.ts";
import { effectiveDuration, autoDestroyAfterMove } from "../workspaces/auto-destroy.ts";
import { moveWorkspaceRows } from "../workspaces/writes.ts";
import { workspaceMoves } from "./definition.ts";
import { ruledMove } from "../workspaces/ruled-move.ts";
import { auditedMove, authorizeDestination, authorizeMove, moveCountsOf } from "./rules.ts";
import { lockWorkspaces } from "./store.ts";

export const workspaceMoveResource = implement(workspaceMoves, {
  async moveWorkspaces({ context, params, body }) {
    const workspaceIds = [...new Set(body.map(({ id }) => id))];
    await context.database.write(async (tx) => {
      const { organizationId } = authorizeDestination(await loadProject(tx, context, params.projectId));
      const lockedWorkspaces = await lockWorkspaces(tx, organizationId, workspaceIds);
      // Lock order: workspaces, then projects, each by id.
      const projects = await lockProjects(tx, context.actor, organizationId, [
        params.projectId,
        ...new Set(lockedWorkspaces.map(({ projectId }) => projectId)),
      ]);
      const lockedDestination = projects.find(({ id }) => id === params.projectId);
      if (lockedDestination === undefined) throw notFound("project");
      const destination = authorizeDestination(lockedDestination);
      const movable = authorizeMove(workspaceIds, lockedWorkspaces, projects);
      const movedWorkspaces = movable.filter(({ projectId }) => projectId !== destination.id);
      if (movedWorkspaces.length === 0) return;
      const { enabledRuleCount = 0 } = lockedWorkspaces[0] ?? {};
      await context.hooks.accessRules.enforceRules(tx, context, { organizationId, enabledRuleCount }, [
        ruledMove(destination.id),
      ]);
      const durations = new Map(
        projects.map(({ id, autoDestroyActivityDuration }) => [id, autoDestroyActivityDuration]),
      );
      await moveWorkspaceRows(tx, destination, movedWorkspaces, now());
      await moveWorkspaceCounts(tx, destination, moveCountsOf(movedWorkspaces, destination.id));
      await recordEvent(tx, context, {
        organizationId,
        verb: "move-workspaces",
        subject: { type: "projects", id: destination.id },
        before: auditedMove(movedWorkspaces, (row) => ({
          ...row,
          autoDestroyActivityDuration: effectiveDuration({
            ...row,
            projectDuration: durations.get(row.projectId) ?? null,
          }),
        })),
        after: auditedMove(movedWorkspaces, (row) => ({
          ...row,
          ...autoDestroyAfterMove(destination.autoDestroyActivityDuration, row),
          projectId: destination.id,
        })),
      });
    });
  },
});
