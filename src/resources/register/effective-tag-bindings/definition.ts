/** A key-value tag that is in effect on a workspace or a project, wherever it comes from. */
import { defineResource } from "../../../jsonapi/define.ts";
import { text } from "../../../jsonapi/schemas.ts";
import type { EffectiveBinding } from "../tag-bindings/reads.ts";

export const effectiveTagBindings = defineResource<EffectiveBinding>()(({ readOnly }) => ({
  type: "effective-tag-bindings",
  doc: "A key-value tag in effect: the thing's own, or its project's where it has none of its own with that key.",
  id: (binding) => binding.id,
  attributes: {
    key: readOnly(text(), "The key."),
    value: readOnly(text(), "The value; may be empty."),
  },
  relationships: {},
  links: ({ inheritedFrom }) =>
    inheritedFrom === null ? undefined : { "inherited-from": `/api/v2/projects/${inheritedFrom}` },
  operations: {
    listEffectiveWorkspaceTagBindings: {
      method: "GET",
      path: "/workspaces/:workspace_id/effective-tag-bindings",
      summary: "List the key-value tags in effect on a workspace",
      needs: "read access to the workspace's runs",
      answer: "list",
    },
    listEffectiveProjectTagBindings: {
      method: "GET",
      path: "/projects/:project_id/effective-tag-bindings",
      summary: "List the key-value tags in effect on a project",
      needs: "read access to the project",
      answer: "list",
    },
  },
}));
