/** What is done for records of both kinds without anybody asking: those that have ended go. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { teamProjectKind } from "./team-projects/operations.ts";
import { teamWorkspaceKind } from "./team-workspaces/operations.ts";
import { tidyRecords } from "./writes.ts";

/** Each takes at most so many places of one organization, and gives how many records went. */
export const tidyTeamAccess = [teamProjectKind, teamWorkspaceKind].map(
  (kind) => (tx: Tx, context: Pick<Context, "actor" | "requestId">, by: Capability<"job">, limit: number) =>
    tidyRecords(tx, context, by, kind, limit),
);
