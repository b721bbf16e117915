/** The operation that moves workspaces between projects. */
import { defineResource } from "../../../jsonapi/define.ts";

export const workspaceMoves = defineResource<never>()(() => ({
  type: "workspace-moves",
  doc: "Moves workspaces between projects: all of the named ones, or none.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    moveWorkspaces: {
      method: "POST",
      path: "/projects/:project_id/relationships/workspaces",
      summary: "Move workspaces into a project: all or none",
      needs: "'move' on the workspaces of the destination and of every project that they come from",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      mayWarn: true,
      example: { data: [{ type: "workspaces", id: "ws-1234567890abcdef" }] },
    },
  },
}));
