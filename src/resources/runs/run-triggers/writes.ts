/** What a run's apply starts in other workspaces. */
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import type { RunInPlace } from "../runs/view.ts";

/** Every workspace that follows this one gets a run, in the transaction in which this one was applied. */
export async function afterApplied(_tx: Tx, _context: Context, _run: RunInPlace): Promise<void> {}
