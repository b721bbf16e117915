/** A key-value tag of a workspace or a project. */
import { z } from "zod";
import type { TagBindingTable } from "../../../database/schema/workspaces.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { text } from "../../../jsonapi/schemas.ts";

export type TagBindingView = Pick<TagBindingTable, "id" | "key" | "value">;

const key = text({ min: 1, max: 128, pattern: /^[^\s].*$/s, sentence: "must not begin with white space" });
const value = text({ max: 256 });

/** A binding as it is sent, alone or with its workspace or project. */
export const bindingItem = z.object({
  type: z.literal("tag-bindings").optional(),
  attributes: z.object({ key, value: value.optional() }),
});

const example = { data: [{ type: "tag-bindings", attributes: { key: "environment", value: "production" } }] };

const list = { method: "GET", answer: "list" } as const satisfies Partial<Operation>;
const change = {
  method: "PATCH",
  body: { custom: z.object({ data: bindingItem.array().max(1000) }) },
  answer: "list",
  example,
} as const satisfies Partial<Operation>;

export const tagBindings = defineResource<TagBindingView>()(({ readOnly }) => ({
  type: "tag-bindings",
  doc: "A key-value tag of a workspace or a project.",
  id: (binding) => binding.id,
  attributes: {
    key: readOnly(key, "Unique on the workspace or project, with its case."),
    value: readOnly(value, "May be empty."),
  },
  relationships: {},
  operations: {
    listWorkspaceTagBindings: {
      ...list,
      path: "/workspaces/:workspace_id/tag-bindings",
      summary: "List a workspace's own key-value tags",
      needs: "read access to the workspace's runs",
    },
    changeWorkspaceTagBindings: {
      ...change,
      path: "/workspaces/:workspace_id/tag-bindings",
      summary: "Add key-value tags to a workspace, or change their values",
      needs: "admin access to the workspace",
    },
    listProjectTagBindings: {
      ...list,
      path: "/projects/:project_id/tag-bindings",
      summary: "List a project's key-value tags",
      needs: "read access to the project",
    },
    changeProjectTagBindings: {
      ...change,
      path: "/projects/:project_id/tag-bindings",
      summary: "Add key-value tags to a project, or change their values",
      needs: "'update' on the project's settings",
    },
  },
}));
