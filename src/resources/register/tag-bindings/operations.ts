/** Operations on key-value tags. */
import type { ListAnswer } from "../../../jsonapi/define.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { authorizeProject, loadProject } from "../projects/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { Tx } from "../../../database/database.ts";
import { authorizeWorkspace, loadWorkspace } from "../workspaces/reads.ts";
import { effectiveTagBindings, tagBindings, type TagBindingView } from "./definition.ts";
import { type BindingOwner, findBindings, ownerColumns } from "./store.ts";
import { effectiveOnProjects, effectiveOnWorkspaces } from "./reads.ts";
import { addBindings, type TagBindingItem, auditedBindings } from "./writes.ts";

export const tagBindingResource = implement(tagBindings, {
  listWorkspaceTagBindings: ({ context, params }) => listOfWorkspace(context, params.workspaceId),
  listRelatedWorkspaceTagBindings: ({ context, params }) => listOfWorkspace(context, params.workspaceId),
  changeWorkspaceTagBindings: ({ context, params, body }) => changeOfWorkspace(context, params.workspaceId, body.data),
  changeRelatedWorkspaceTagBindings: ({ context, params, body }) =>
    changeOfWorkspace(context, params.workspaceId, body.data),
  addWorkspaceTagBindings: async ({ context, params, body }) => {
    await changeOfWorkspace(context, params.workspaceId, body.data);
  },

  listProjectTagBindings: ({ context, params }) => listOfProject(context, params.projectId),
  listRelatedProjectTagBindings: ({ context, params }) => listOfProject(context, params.projectId),
  changeProjectTagBindings: ({ context, params, body }) => changeOfProject(context, params.projectId, body.data),
  changeRelatedProjectTagBindings: ({ context, params, body }) => changeOfProject(context, params.projectId, body.data),
  addProjectTagBindings: async ({ context, params, body }) => {
    await changeOfProject(context, params.projectId, body.data);
  },
});

export const effectiveTagBindingResource = implement(effectiveTagBindings, {
  async listEffectiveWorkspaceTagBindings({ context, params }) {
    const tx = context.database.reader;
    const workspace = await loadWorkspace(tx, context, params);
    return { views: await effectiveOnWorkspaces(tx, [workspace.id]) };
  },

  async listEffectiveProjectTagBindings({ context, params }) {
    const tx = context.database.reader;
    const project = await loadProject(tx, context, params.projectId);
    return { views: await effectiveOnProjects(tx, [project.id]) };
  },
});

type TagBindingList = ListAnswer<TagBindingView>;
type TagBindingItems = readonly TagBindingItem[];

async function listOfWorkspace(context: Context, workspaceId: string): Promise<TagBindingList> {
  const tx = context.database.reader;
  const { id } = await loadWorkspace(tx, context, { workspaceId });
  return { views: await findBindings(tx, { workspaceId: id }) };
}

async function changeOfWorkspace(
  context: Context,
  workspaceId: string,
  items: TagBindingItems,
): Promise<TagBindingList> {
  return context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(
      await loadWorkspace(tx, context, { workspaceId }, "change"),
      "can-manage-tags",
    );
    return changeBindings(tx, context, { workspace }, items);
  });
}

async function listOfProject(context: Context, projectId: string): Promise<TagBindingList> {
  const tx = context.database.reader;
  const { id } = await loadProject(tx, context, projectId);
  return { views: await findBindings(tx, { projectId: id }) };
}

async function changeOfProject(context: Context, projectId: string, items: TagBindingItems): Promise<TagBindingList> {
  return context.database.write(async (tx) => {
    const project = authorizeProject(await loadProject(tx, context, projectId, "change"), "can-update");
    return changeBindings(tx, context, { project }, items);
  });
}

async function changeBindings(
  tx: Tx,
  context: Context,
  owner: BindingOwner,
  items: TagBindingItems,
): Promise<TagBindingList> {
  const { before, after } = await addBindings(tx, owner, items);
  await recordEvent(tx, context, {
    organizationId: ownerColumns(owner).organizationId,
    verb: "bind-tags",
    subject:
      "workspace" in owner
        ? { type: "workspaces", id: owner.workspace.id }
        : { type: "projects", id: owner.project.id },
    before: auditedBindings(before),
    after: auditedBindings([...before, ...after]),
  });
  return { views: after };
}
