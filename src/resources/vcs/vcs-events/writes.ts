/** Writes events for other modules: failed requests to providers, and connected workspaces. */
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { VcsEventTable } from "../../../database/schema/vcs.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { ConnectedWorkspace } from "../../shared/hooks.ts";
import { insertEvents } from "./store.ts";

const emptyEvent = {
  deliveryId: null,
  branch: null,
  tag: null,
  pullRequest: null,
  commitSha: null,
  configurationVersionId: null,
  runId: null,
  attempts: 0,
  version: 1,
} as const;

type VcsEventTarget = Pick<VcsEventTable, "organizationId" | "workspaceId" | "oauthClientId" | "repository">;

/** Only for users to read: nothing processes it. */
export async function recordFailure(
  tx: Tx,
  by: Capability<"job">,
  kind: "webhook" | "status",
  target: VcsEventTarget,
  detail: string,
): Promise<void> {
  const at = now();
  const failed = { kind, outcome: "failed", detail, dueMs: null, createdAt: at, decidedAt: at } as const;
  await insertEvents(tx, by, [{ ...emptyEvent, ...target, ...failed, id: newId("vcs-events") }]);
}

/** In the transaction that connects the workspace. Wake the job after the commit. */
export async function recordConnected(
  tx: Tx,
  workspace: Granted<ConnectedWorkspace, "can-update" | "can-create-workspace">,
): Promise<void> {
  const { id: workspaceId, organizationId, vcsIdentifier: repository, vcsBranch: branch } = workspace;
  const detail = `connecting ${repository} is waiting to be processed`;
  const waiting = { kind: "connection", outcome: null, detail, dueMs: 0, createdAt: now(), decidedAt: null } as const;
  const target = { organizationId, workspaceId, oauthClientId: null, repository };
  await insertEvents(tx, workspace, [{ ...emptyEvent, ...target, ...waiting, id: newId("vcs-events"), branch }]);
}
