/** Starts sending the status of a run to the provider, from the run's own transaction on. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import { insertStatus } from "./store.ts";

interface CommitTarget {
  readonly repository: string;
  readonly sha: string;
  readonly oauthTokenId: string | null;
}

export async function trackRunStatus(
  tx: Tx,
  by: Capability<"job">,
  run: { readonly id: string; readonly organizationId: string },
  { repository, sha, oauthTokenId }: CommitTarget,
): Promise<void> {
  if (oauthTokenId === null) return;
  const { id: runId, organizationId } = run;
  const unsent = { state: null, attempts: 0, dueMs: 0 };
  await insertStatus(tx, by, { runId, organizationId, oauthTokenId, repository, sha, ...unsent });
}
