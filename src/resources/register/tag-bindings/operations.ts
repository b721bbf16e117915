/** Operations on key-value tags. Who may see the workspace or project may see them; who may update it may change them. */
import type { ListAnswer } from "../../../jsonapi/define.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { grantProject, loadProject } from "../projects/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { Tx } from "../../../database/database.ts";
import { grantWorkspace, loadWorkspace } from "../workspaces/reads.ts";
import { tagBindings, type TagBindingView } from "./definition.ts";
import { type Bound, findBindings } from "./store.ts";
import { addBindings, type BindingItem, told } from "./writes.ts";

export const tagBindingResource = implement(tagBindings, {
  async listWorkspaceTagBindings({ context, params }) {
    const tx = context.database.reader;
    const workspace = await loadWorkspace(tx, context, params);
    return { views: await findBindings(tx, { organizationId: workspace.organizationId, workspaceId: workspace.id }) };
  },

  async changeWorkspaceTagBindings({ context, params, body }) {
    return context.database.write(async (tx) => {
      const workspace = grantWorkspace(await loadWorkspace(tx, context, params, true), "can-manage-tags");
      return change(tx, context, { organizationId: workspace.organizationId, workspaceId: workspace.id }, body.data);
    });
  },

  async listProjectTagBindings({ context, params }) {
    const tx = context.database.reader;
    const project = await loadProject(tx, context, params.projectId);
    return { views: await findBindings(tx, { organizationId: project.organizationId, projectId: project.id }) };
  },

  async changeProjectTagBindings({ context, params, body }) {
    return context.database.write(async (tx) => {
      const project = grantProject(await loadProject(tx, context, params.projectId, true), "can-update");
      return change(tx, context, { organizationId: project.organizationId, projectId: project.id }, body.data);
    });
  },
});

/** Answers with what was sent, in the order in which it was sent. */
async function change(
  tx: Tx,
  context: Context,
  bound: Bound,
  items: readonly BindingItem[],
): Promise<ListAnswer<TagBindingView>> {
  const { before, after } = await addBindings(tx, bound, items);
  await recordEvent(tx, context, {
    organizationId: bound.organizationId,
    verb: "bind-tags",
    subject:
      "workspaceId" in bound
        ? { type: "workspaces", id: bound.workspaceId }
        : { type: "projects", id: bound.projectId },
    before: told(before),
    after: told([...before, ...after]),
  });
  return { views: after };
}
