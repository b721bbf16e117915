/** What the arrival of a state leads to, in the transaction in which its version is told of its content. */
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import { noteStateWritten } from "../../../register/workspaces/writes.ts";
import type { Context } from "../../../shared/context.ts";
import { insertResources } from "../../resources/writes.ts";
import { insertOutputs } from "../../state-version-outputs/writes.ts";
import type { StateArrival } from "../../proofs.ts";
import { discardVersions } from "../store.ts";
import { recordDiscarded } from "../writes.ts";
import type { ReadRows } from "./reading.ts";

export interface Arrived {
  readonly version: StateVersionTable;
  readonly rows: ReadRows;
  /** The version that it follows, whose resources go on in it. */
  readonly predecessorId: string | undefined;
  /** Whether others may still be awaited. */
  readonly awaits: boolean;
}

/** Its outputs and resources are written, older versions are awaited no more, and the workspace is not idle. */
export async function writeOutcome(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  by: StateArrival,
  { version, rows, predecessorId, awaits }: Arrived,
): Promise<void> {
  await insertOutputs(tx, by, rows.outputs);
  await insertResources(tx, by, rows.resources, predecessorId);
  if (awaits) await recordDiscarded(tx, context, await discardVersions(tx, by, version));
  await noteStateWritten(tx, by, version.workspaceId, version.createdAt);
}
