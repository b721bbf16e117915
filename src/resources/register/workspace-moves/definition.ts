/** Moving workspaces between projects, many at once. A move leaves no thing of its own behind but its audit event. */
import { defineResource } from "../../../jsonapi/define.ts";

export const workspaceMoves = defineResource<never>()(() => ({
  type: "workspace-moves",
  doc: "Moving workspaces between projects: all of those that are named, or none.",
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
      example: { data: [{ type: "workspaces", id: "ws-1234567890abcdef" }] },
    },
  },
}));
