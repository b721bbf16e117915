/** Describes a move to access rules: they see the project that workspaces move to. */
import type { RuledChange } from "../../shared/hooks.ts";

export const ruledMove = (projectId: string): RuledChange => ({
  action: "moveWorkspace",
  resource: { type: "projects", id: projectId },
  permissions: [],
});
