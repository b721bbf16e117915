/** Background removal of expired team access, for both kinds of records. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { AuditContext } from "../../shared/audit-events/writes.ts";
import { teamProjectKind } from "./team-projects/operations.ts";
import { teamWorkspaceKind } from "./team-workspaces/operations.ts";
import { removeExpiredRecords } from "./writes.ts";

/** On at most `limit` targets of one organization; returns how many. */
export const removeExpiredTeamAccess = [teamProjectKind, teamWorkspaceKind].map(
  (kind) => (tx: Tx, context: AuditContext, by: Capability<"job">, limit: number) =>
    removeExpiredRecords(tx, context, by, kind, limit),
);
