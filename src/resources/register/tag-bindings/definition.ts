/** Key-value tags: those set on a workspace or project, and the effective ones. */
import { z } from "zod";
import type { TagBindingTable } from "../../../database/schema/workspaces.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { text } from "../../../jsonapi/schemas.ts";

export type TagBindingView = Pick<TagBindingTable, "id" | "key" | "value">;

const key = text({ min: 1, max: 128, pattern: /^[^\s].*$/s, sentence: "must not begin with whitespace" });
const value = text({ max: 256 });

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

// Two paths each, because clients use both.
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
  summary: "Add or update key-value tags of a workspace",
  needs: "admin access to the workspace",
});
const addToWorkspace = {
  ...change,
  method: "POST",
  path: "/workspaces/:workspace_id/relationships/tag-bindings",
  summary: "Add or update key-value tags of a workspace, with an empty response",
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
  summary: "Add or update key-value tags of a project",
  needs: "'update' on the project's settings",
});

const addToProject = {
  ...change,
  method: "POST",
  path: "/projects/:project_id/relationships/tag-bindings",
  summary: "Add or update key-value tags of a project, with an empty response",
  needs: "'update' on the project's settings",
  answer: "nothing",
} as const satisfies Operation;

export const tagBindings = defineResource<TagBindingView>()(({ readOnly }) => ({
  type: "tag-bindings",
  doc: "A key-value tag of a workspace or a project.",
  id: (binding) => binding.id,
  attributes: {
    key: readOnly(key, "The key. It is unique on the workspace or project and case-sensitive."),
    value: readOnly(value, "The value; it can be empty."),
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
  readonly ownerId: string;
  /** A project; null for the owner's own binding. */
  readonly inheritedFrom: string | null;
}

export const effectiveTagBindings = defineResource<EffectiveBinding>()(({ readOnly }) => ({
  type: "effective-tag-bindings",
  doc: "An effective key-value tag of a workspace or project. A workspace inherits its project's tags unless it sets the same key itself.",
  id: (binding) => binding.id,
  attributes: {
    key: readOnly(text(), "The key."),
    value: readOnly(text(), "The value; it can be empty."),
  },
  relationships: {},
  links: ({ inheritedFrom }) =>
    inheritedFrom === null ? undefined : { "inherited-from": `/api/v2/projects/${inheritedFrom}` },
  operations: {
    listEffectiveWorkspaceTagBindings: {
      method: "GET",
      path: "/workspaces/:workspace_id/effective-tag-bindings",
      summary: "List a workspace's effective key-value tags",
      needs: "read access to the workspace's runs",
      answer: "list",
    },
    listEffectiveProjectTagBindings: {
      method: "GET",
      path: "/projects/:project_id/effective-tag-bindings",
      summary: "List a project's effective key-value tags",
      needs: "read access to the project",
      answer: "list",
    },
  },
}));
