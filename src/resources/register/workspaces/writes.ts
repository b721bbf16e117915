/** What neighbours have done to workspaces, by sets. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { raised } from "../../shared/versions.ts";
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
      ...raised,
    })
    .where("organizationId", "=", project.organizationId)
    .where("projectId", "=", project.id)
    .where("inheritsProjectAutoDestroy", "=", 1)
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
    .set({ latestChangeAt: at, ...raised })
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
    .set({ ...read, ...raised })
    .where("id", "=", stateVersion.workspaceId)
    .where("currentStateVersionId", "=", stateVersion.id)
    .execute();
}
