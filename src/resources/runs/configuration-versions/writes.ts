/** What runs have done to configuration versions, and the audit event of a status that one reaches. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { ConfigurationVersionTable, RunTable } from "../../../database/schema/runs.ts";
import { setCurrentConfiguration } from "../../register/workspaces/writes.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { configurationVersions } from "./definition.ts";
import { approve, findVersions } from "./store.ts";

type ConfirmedRun = Pick<
  RunTable,
  "workspaceId" | "configurationVersionId" | "isDestroy" | "refreshOnly" | "targetAddrs" | "variables"
> & { readonly configurationApprovedAt: string | null };

/**
 * Somebody who may apply has confirmed a run with it. In another workspace that says nothing: who may apply there may not be allowed to
 * in the configuration's own. Nor does it where the plan did not show what the configuration does in an automatic run.
 */
export async function approveConfiguration(tx: Tx, run: Granted<ConfirmedRun, "run-transition">): Promise<void> {
  if (run.configurationVersionId === null || run.configurationApprovedAt !== null || !showsAll(run)) return;
  await approve(tx, run, run.configurationVersionId);
}

/** A planner chooses targets and a run's own variables, and could so leave out of the plan what the next run then applies. */
const showsAll = ({ isDestroy, refreshOnly, targetAddrs, variables }: ConfirmedRun): boolean =>
  isDestroy === 0 && refreshOnly === 0 && variables === null && (targetAddrs === null || targetAddrs === "[]");

interface AppliedRun {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly configurationVersionId: string | null;
  readonly currentConfigurationVersionId: string | null;
}

/** A provisional configuration of the workspace becomes its current one when a run with it was applied, unless a newer one is. */
export async function noteConfigurationApplied(tx: Tx, run: Granted<AppliedRun, "run-transition">): Promise<void> {
  const { configurationVersionId: id, currentConfigurationVersionId: currentId, workspaceId } = run;
  if (id === null || id === currentId) return;
  const found = await findVersions(tx, run.organizationId, currentId === null ? [id] : [id, currentId]);
  const [applied, current] = [id, currentId].map((wanted) => found.find((version) => version.id === wanted));
  const isOther = applied?.workspaceId !== workspaceId || applied.provisional === 0 || applied.speculative === 1;
  if (isOther || (current !== undefined && current.position > applied.position)) return;
  await setCurrentConfiguration(tx, run, workspaceId, applied);
}

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
