/** What a change of a project leaves in the audit trail: its attributes, its default pool, and what hangs on it. */
import type { Tx } from "../../../database/database.ts";
import { type Beside, recordChange } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { projects, type ProjectView } from "./definition.ts";
import { defaultPoolOf } from "./execution.ts";

export async function recordProjectChange(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  change: { readonly before?: ProjectView; readonly after?: ProjectView },
  beside: Beside = {},
): Promise<void> {
  const poolOf = (project: ProjectView) => ({ "default-agent-pool": defaultPoolOf(project) });
  const { before, after } = change;
  await recordChange(tx, context, projects, change, {
    before: before && { ...poolOf(before), ...beside.before },
    after: after && { ...poolOf(after), ...beside.after },
  });
}
