/** A key-value tag of a workspace or a project; and one that is in effect there, wherever it comes from. */
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

const change = {
  method: "PATCH",
  body: { custom: z.object({ data: bindingItem.array().max(1000) }) },
  answer: "list",
  example,
} as const satisfies Partial<Operation>;

// Each stands under two paths: clients know the one or the other.
const listOfWorkspace = <const Path extends string>(path: Path) =>
  ({
    method: "GET",
    path,
    summary: "List a workspace's own key-value tags",
    needs: "read access to the workspace's runs",
    answer: "list",
  }) as const;
const changeOfWorkspace = <const Path extends string>(path: Path) => ({
  ...change,
  path,
  summary: "Add key-value tags to a workspace, or change their values",
  needs: "admin access to the workspace",
});
const addToWorkspace = {
  ...change,
  method: "POST",
  path: "/workspaces/:workspace_id/relationships/tag-bindings",
  summary: "Add key-value tags to a workspace, without an answer",
  needs: "admin access to the workspace",
  answer: "nothing",
} as const satisfies Operation;
const listOfProject = <const Path extends string>(path: Path) =>
  ({
    method: "GET",
    path,
    summary: "List a project's key-value tags",
    needs: "read access to the project",
    answer: "list",
  }) as const;
const changeOfProject = <const Path extends string>(path: Path) => ({
  ...change,
  path,
  summary: "Add key-value tags to a project, or change their values",
  needs: "'update' on the project's settings",
});

const addToProject = {
  ...change,
  method: "POST",
  path: "/projects/:project_id/relationships/tag-bindings",
  summary: "Add key-value tags to a project, without an answer",
  needs: "'update' on the project's settings",
  answer: "nothing",
} as const satisfies Operation;

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
    listWorkspaceTagBindings: listOfWorkspace("/workspaces/:workspace_id/tag-bindings"),
    listRelatedWorkspaceTagBindings: listOfWorkspace("/workspaces/:workspace_id/relationships/tag-bindings"),
    changeWorkspaceTagBindings: changeOfWorkspace("/workspaces/:workspace_id/tag-bindings"),
    changeRelatedWorkspaceTagBindings: changeOfWorkspace("/workspaces/:workspace_id/relationships/tag-bindings"),
    addWorkspaceTagBindings: addToWorkspace,
    listProjectTagBindings: listOfProject("/projects/:project_id/tag-bindings"),
    listRelatedProjectTagBindings: listOfProject("/projects/:project_id/relationships/tag-bindings"),
    changeProjectTagBindings: changeOfProject("/projects/:project_id/tag-bindings"),
    changeRelatedProjectTagBindings: changeOfProject("/projects/:project_id/relationships/tag-bindings"),
    addProjectTagBindings: addToProject,
  },
}));

export interface EffectiveBinding extends Pick<TagBindingTable, "id" | "key" | "value"> {
  /** Whose binding it is in effect on. */
  readonly ownerId: string;
  /** The project that it comes from; null for an own one. */
  readonly inheritedFrom: string | null;
}

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
