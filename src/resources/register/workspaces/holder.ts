/** Who holds a workspace's lock, and how that is told. */
import type { Actor } from "../../../access/actor.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";

export type LockColumns = Pick<WorkspaceTable, "lockedByType" | "lockedById" | "lockedByName" | "lockedReason">;

/** A lock is held by a person, whichever token is used, by a team, or by a run; an organization's token holds none. */
export function holderOf(actor: Actor): Omit<LockColumns, "lockedReason"> | undefined {
  if (actor.kind === "user") return { lockedByType: "users", lockedById: actor.userId, lockedByName: actor.name };
  if (actor.kind === "team") return { lockedByType: "teams", lockedById: actor.teamId, lockedByName: actor.name };
  if (actor.kind === "run") return { lockedByType: "runs", lockedById: actor.runId, lockedByName: actor.name };
  return undefined;
}

export function holdsLock(actor: Actor, workspace: LockColumns): boolean {
  const holder = holderOf(actor);
  return (
    holder !== undefined && holder.lockedByType === workspace.lockedByType && holder.lockedById === workspace.lockedById
  );
}

/** In words that clients look for. */
export function nameOfHolder({ lockedByType, lockedByName, lockedById }: LockColumns): string {
  if (lockedByType === "runs") return `Run ${lockedById}`;
  return `${lockedByType === "teams" ? "Team" : "User"} ${lockedByName}`;
}
