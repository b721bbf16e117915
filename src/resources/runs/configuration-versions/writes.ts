/** Writes to configuration versions by runs, and audit events for status changes. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { ConfigurationVersionTable, RunTable } from "../../../database/schema/runs.ts";
import { setCurrentConfiguration } from "../../register/workspaces/writes.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { configurationVersions } from "./definition.ts";
import { setConfigurationApproved, findVersions } from "./store.ts";

type ConfirmedRun = Pick<
  RunTable,
  "workspaceId" | "configurationVersionId" | "isDestroy" | "refreshOnly" | "targetAddrs" | "variables"
> & { readonly configurationApprovedAt: string | null };

/** Not for another workspace's configuration: other users can apply there. */
export async function approveConfiguration(tx: Tx, run: Granted<ConfirmedRun, "run-transition">): Promise<void> {
  if (run.configurationVersionId === null || run.configurationApprovedAt !== null || !isFullPlan(run)) return;
  await setConfigurationApproved(tx, run, run.configurationVersionId);
}

/** Users who can only plan could use targets and variables to hide from the plan what the next run would apply. */
const isFullPlan = ({ isDestroy, refreshOnly, targetAddrs, variables }: ConfirmedRun): boolean =>
  isDestroy === 0 && refreshOnly === 0 && variables === null && (targetAddrs === null || targetAddrs === "[]");

interface AppliedRun {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly configurationVersionId: string | null;
  readonly currentConfigurationVersionId: string | null;
}

export async function makeAppliedConfigurationCurrent(
  tx: Tx,
  run: Granted<AppliedRun, "run-transition">,
): Promise<void> {
  const { configurationVersionId: id, currentConfigurationVersionId: currentId, workspaceId } = run;
  if (id === null || id === currentId) return;
  const found = await findVersions(tx, run.organizationId, currentId === null ? [id] : [id, currentId]);
  const [applied, current] = [id, currentId].map((each) => found.find((version) => version.id === each));
  const isOther = applied?.workspaceId !== workspaceId || applied.provisional === 0 || applied.speculative === 1;
  if (isOther || (current !== undefined && current.position > applied.position)) return;
  await setCurrentConfiguration(tx, run, workspaceId, applied);
}

export async function recordStatusChange(
  tx: Tx,
  context: Context,
  { id, organizationId, status }: Pick<ConfigurationVersionTable, "id" | "organizationId" | "status">,
  verb: string,
  to: string,
): Promise<void> {
  const subject = { type: configurationVersions.type, id };
  await recordEvent(tx, context, { organizationId, verb, subject, before: { status }, after: { status: to } });
}
