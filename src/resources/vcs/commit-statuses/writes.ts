/** What is told of a commit follows its run, from the transaction on in which that begins. */
import type { Tx } from "../../../database/database.ts";
import { insertStatus } from "./store.ts";

interface Place {
  readonly repository: string;
  readonly sha: string;
  readonly oauthTokenId: string | null;
}

export async function followRun(
  tx: Tx,
  run: { readonly id: string; readonly organizationId: string },
  { repository, sha, oauthTokenId }: Place,
): Promise<void> {
  if (oauthTokenId === null) return;
  const { id: runId, organizationId } = run;
  const told = { state: null, attempts: 0, dueMs: 0 };
  await insertStatus(tx, "version control", { runId, organizationId, oauthTokenId, repository, sha, ...told });
}
