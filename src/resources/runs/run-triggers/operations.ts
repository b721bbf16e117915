/** Operations on run triggers: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import { AppError, notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { authorizeWorkspace, loadWorkspace, loadWorkspaces } from "../../register/workspaces/reads.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { runTriggers, type RunTriggerForActor, type RunTriggerView } from "./definition.ts";
import { newTrigger, existingSourceFaults, sourceFaults } from "./rules.ts";
import { deleteTrigger, findRunTrigger, findSourceIds, insertTrigger, pageOfTriggers } from "./store.ts";

export const runTriggerResource = implement(runTriggers, {
  async listRunTriggers({ context, params, query }) {
    const isInbound = query.filterRunTriggerType === "inbound";
    if (!isInbound && query.include.size > 0)
      throw new AppError("bad-request", [
        { detail: "include can only be used with filter[run-trigger][type]=inbound", parameter: "include" },
      ]);
    const tx = context.database.reader;
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, params), "can-read-run");
    const found = await pageOfTriggers(
      tx,
      context.actor,
      workspace,
      isInbound ? "workspaceId" : "sourceableId",
      query.page,
    );
    return { ...found, included: await loadIncluded(tx, context, runTriggers, found.views, query.include) };
  },

  async createRunTrigger({ context, params, body }) {
    return context.database.write(async (tx) => {
      const sourceId = body.relationships.sourceable ?? "";
      const locked = await loadWorkspaces(tx, context, [params.workspaceId, sourceId]);
      const found = locked.find(({ id }) => id === params.workspaceId);
      if (found === undefined) throw notFound("workspace");
      const workspace = authorizeWorkspace(found, "can-update");
      const source = locked.find(({ id }) => id === sourceId);
      throwIfInvalid(sourceFaults(workspace, source));
      if (source === undefined) throw notFound("workspace");
      throwIfInvalid(existingSourceFaults(await findSourceIds(tx, workspace.id), source.id));
      const view = newTrigger(workspace, source);
      await insertTrigger(tx, workspace, view);
      await recordTrigger(tx, context, "create", view);
      return { view };
    });
  },

  async showRunTrigger({ context, params, query }) {
    const tx = context.database.reader;
    const view = authorizeOnWorkspace(
      "run trigger",
      await loadTrigger(tx, context, params.runTriggerId),
      "can-read-run",
    );
    return { view, included: await loadIncluded(tx, context, runTriggers, [view], query.include) };
  },

  async deleteRunTrigger({ context, params }) {
    await context.database.write(async (tx) => {
      const found = await loadTrigger(tx, context, params.runTriggerId, "change");
      const trigger = authorizeOnWorkspace("run trigger", found, "can-update");
      context.ifMatch.check(trigger);
      await deleteTrigger(tx, trigger);
      await recordTrigger(tx, context, "delete", trigger);
    });
  },
});

async function loadTrigger(
  tx: Tx,
  context: Context,
  id: string,
  lock: "change" | false = false,
): Promise<RunTriggerForActor> {
  const trigger = await findRunTrigger(tx, context.actor, id, lock);
  if (trigger === undefined) throw notFound("run trigger");
  return trigger;
}

async function recordTrigger(
  tx: Tx,
  context: Context,
  verb: "create" | "delete",
  trigger: RunTriggerView,
): Promise<void> {
  const { id, organizationId, workspaceId, workspaceName, sourceableId, sourceableName } = trigger;
  const details = {
    workspace: workspaceId,
    "workspace-name": workspaceName,
    sourceable: sourceableId,
    "sourceable-name": sourceableName,
  };
  const subject = { type: runTriggers.type, id };
  await recordEvent(tx, context, { organizationId, verb, subject, [verb === "create" ? "after" : "before"]: details });
}
