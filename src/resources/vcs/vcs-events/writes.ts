/** What others note among the events: what could not be done at a provider, and what was connected. */
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { VcsEventTable } from "../../../database/schema/vcs.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { ConnectedWorkspace } from "../../shared/hooks.ts";
import { insertEvents } from "./store.ts";

const blank = {
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

type Place = Pick<VcsEventTable, "organizationId" | "workspaceId" | "oauthClientId" | "repository">;

/** Of a webhook or a status; nothing follows from it but that somebody can read it. */
export async function noteFailure(
  tx: Tx,
  by: Capability<"job">,
  kind: "webhook" | "status",
  place: Place,
  detail: string,
): Promise<void> {
  const at = now();
  const told = { kind, outcome: "failed", detail, dueMs: null, createdAt: at, decidedAt: at } as const;
  await insertEvents(tx, by, [{ ...blank, ...place, ...told, id: newId("vcs-events") }]);
}

/** A workspace was connected to a repository, in its transaction. Wake the job after it. */
export async function noteConnected(
  tx: Tx,
  workspace: Granted<ConnectedWorkspace, "can-update" | "can-create-workspace">,
): Promise<void> {
  const { id: workspaceId, organizationId, vcsIdentifier: repository, vcsBranch: branch } = workspace;
  const detail = `connecting ${repository} waits to be worked off`;
  const waits = { kind: "connection", outcome: null, detail, dueMs: 0, createdAt: now(), decidedAt: null } as const;
  const place = { organizationId, workspaceId, oauthClientId: null, repository };
  await insertEvents(tx, workspace, [{ ...blank, ...place, ...waits, id: newId("vcs-events"), branch }]);
}
