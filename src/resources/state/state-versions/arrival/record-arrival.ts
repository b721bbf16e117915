/** Records the consequences of a state's arrival, in the transaction that finalizes its version. */
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import { recordStateWritten } from "../../../register/workspaces/writes.ts";
import type { Context } from "../../../shared/context.ts";
import { insertResources } from "../../resources/writes.ts";
import { insertOutputs } from "../../state-version-outputs/writes.ts";
import type { UploadingCaller } from "../../state-writers.ts";
import { discardVersions } from "../store.ts";
import { recordDiscarded } from "../writes.ts";
import type { ParsedStateRows } from "./parsing.ts";

export interface ArrivedStateVersion {
  readonly version: StateVersionTable;
  readonly rows: ParsedStateRows;
  /** Resources keep their ids and times from this version. */
  readonly predecessorId: string | undefined;
  readonly hasPending: boolean;
}

export async function recordArrival(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  by: UploadingCaller,
  { version, rows, predecessorId, hasPending }: ArrivedStateVersion,
): Promise<void> {
  await insertOutputs(tx, by, rows.outputs);
  await insertResources(tx, by, rows.resources, predecessorId);
  if (hasPending) await recordDiscarded(tx, context, await discardVersions(tx, by, version));
  await recordStateWritten(tx, by, version.workspaceId, version.createdAt);
}
