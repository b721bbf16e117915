/** What neighbours have done to workspaces, by sets. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { raiseProjectVersions } from "../projects/writes.ts";
import { updateWorkspaceRow } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

/** A project's new duration reaches every workspace of it without an override: one statement. */
export async function inheritDuration(
  tx: Tx,
  project: {
    readonly organizationId: string;
    readonly id: string;
    readonly autoDestroyActivityDuration: string | null;
  },
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({
      autoDestroyActivityDuration: project.autoDestroyActivityDuration,
      autoDestroyAt: null,
      version: sql`version + 1`,
    })
    .where("organizationId", "=", project.organizationId)
    .where("projectId", "=", project.id)
    .where("inheritsProjectAutoDestroy", "=", 1)
    .execute();
}

/**
 * Something in the organization has changed that documents show: of all its workspaces and projects, or of those that
 * follow its defaults. Workspaces follow them through projects that do.
 */
export async function raiseWorkspaceVersions(
  tx: Tx,
  organizationId: string,
  whose: "all" | "followers",
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({ version: sql`version + 1` })
    .where("organizationId", "=", organizationId)
    .$if(whose === "followers", (query) =>
      query
        .where("overwritesExecutionMode", "=", 0)
        .where("projectId", "in", (from) =>
          from
            .selectFrom("projects")
            .select("projects.id")
            .where("projects.organizationId", "=", organizationId)
            .where("projects.defaultExecutionMode", "is", null),
        ),
    )
    .execute();
  await raiseProjectVersions(tx, organizationId, whose);
}

/** A project's defaults have changed, which the workspaces show that follow them. */
export async function raiseFollowersOf(
  tx: Tx,
  project: { readonly organizationId: string; readonly id: string },
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({ version: sql`version + 1` })
    .where("organizationId", "=", project.organizationId)
    .where("projectId", "=", project.id)
    .where("overwritesExecutionMode", "=", 0)
    .execute();
}

/** Which variables it has, joined by commas: its document names them. Its row is locked by now, so that no id gets lost. */
export async function setVarIds(
  tx: Tx,
  workspace: Granted<WorkspaceView, "can-update-variable">,
  varIds: string,
): Promise<void> {
  await updateWorkspaceRow(tx, workspace, { varIds });
}

/** A state was written: the workspace is not idle, and its document shows since when. */
export async function noteStateWritten(tx: Tx, workspaceId: string, at: string): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({ latestChangeAt: at, version: sql`version + 1` })
    .where("id", "=", workspaceId)
    .execute();
}

/** What was read out of a state, where that is the one in force. */
export async function noteStateRead(
  tx: Tx,
  stateVersion: { readonly id: string; readonly workspaceId: string },
  read: { readonly resourceCount: number; readonly outputIds: string },
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({ ...read, version: sql`version + 1` })
    .where("id", "=", stateVersion.workspaceId)
    .where("currentStateVersionId", "=", stateVersion.id)
    .execute();
}
