/** Operations on runs: load → authorize → decide → write. */
import { notFound } from "../../../kernel/errors.ts";
import { grantWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { runs } from "./definition.ts";
import { pageOfWorkspaceRuns } from "./list.ts";
import { loadRun } from "./reads.ts";
import { createRun } from "./writes.ts";

export const runResource = implement(runs, {
  async createRun({ context, body: { attributes, relationships } }) {
    return context.database.write(async (tx) => {
      const workspaceId = relationships.workspace;
      if (workspaceId === null) throw notFound("workspace");
      const found = await loadWorkspace(tx, context, { workspaceId }, true);
      const workspace = grantWorkspace(found, "can-queue-run", "hide");
      // A plan alone destroys nothing.
      const destroys = attributes.isDestroy === true && attributes.planOnly !== true;
      const by = destroys ? grantWorkspace(workspace, "can-queue-destroy", "hide") : workspace;
      const asked = {
        ...attributes,
        configurationVersionId: relationships.configurationVersion,
        source: sourceOf(context),
        triggerReason: "manual",
      } as const;
      const { id } = await createRun(tx, context, workspace, asked, by);
      return { view: await loadRun(tx, context, id) };
    });
  },

  async listWorkspaceRuns({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = grantWorkspace(await loadWorkspace(tx, context, params), "can-read-run");
    return pageOfWorkspaceRuns(tx, context, workspace, { page: query.page });
  },

  async showRun({ context, params }) {
    return { view: await loadRun(context.database.reader, context, params.runId) };
  },
});

function sourceOf({ integration, source }: Context): string {
  if (integration === "cloud") return "terraform+cloud";
  return integration === "remote" ? "terraform" : source === "tfe-ui" ? "tfe-ui" : "tfe-api";
}
