/** What the audit trail tells of a configuration version that changes its status. */
import type { Tx } from "../../../database/database.ts";
import type { ConfigurationVersionTable } from "../../../database/schema/runs.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { configurationVersions } from "./definition.ts";

export async function recordMove(
  tx: Tx,
  context: Context,
  { id, organizationId, status }: Pick<ConfigurationVersionTable, "id" | "organizationId" | "status">,
  verb: string,
  to: string,
): Promise<void> {
  const subject = { type: configurationVersions.type, id };
  await recordEvent(tx, context, { organizationId, verb, subject, before: { status }, after: { status: to } });
}
