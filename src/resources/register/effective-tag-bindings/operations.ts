/** Operations on the key-value tags in effect. */
import { loadProject } from "../projects/reads.ts";
import { implement } from "../../shared/context.ts";
import { effectiveOnProjects, effectiveOnWorkspaces } from "../tag-bindings/reads.ts";
import { loadWorkspace } from "../workspaces/reads.ts";
import { effectiveTagBindings } from "./definition.ts";

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
