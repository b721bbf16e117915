/** Removes expired team access in the background. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { AuditContext } from "../../shared/audit-events/writes.ts";
import { teamProjectKind } from "./team-projects/operations.ts";
import { teamWorkspaceKind } from "./team-workspaces/operations.ts";
import { removeExpiredRecords } from "./writes.ts";

export const removeExpiredTeamAccess = [teamProjectKind, teamWorkspaceKind].map(
  (kind) => (tx: Tx, context: AuditContext, by: Capability<"job">, limit: number) =>
    removeExpiredRecords(tx, context, by, kind, limit),
);
