/** A resource that a workspace manages, as its state in force has it. */
import type { StateResourceTable } from "../../../database/schema/state.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export interface ManagedResourceView extends StateResourceTable {
  readonly workspaceId: string;
}

export const managedResources = defineResource<ManagedResourceView>()(({ readOnly, toOne }) => ({
  type: "resources",
  doc: "Something that a workspace manages: one address of its state in force.",
  id: (resource) => resource.id,
  attributes: {
    address: readOnly(text(), "Where it stands in the configuration, with its module and index."),
    name: readOnly(text(), "The name that the configuration gives it."),
    "name-index": readOnly(text().nullable(), "Its index, where there are several under one name."),
    module: readOnly(text(), "The module that it stands in; `root` for none."),
    provider: readOnly(text(), "The provider that manages it: `hashicorp/aws`."),
    "provider-type": readOnly(text(), "What it is, in the provider's words: `aws_instance`.", {
      from: (resource) => resource.type,
    }),
    "modified-by-state-version-id": readOnly(text(), "The state version that changed it last."),
    "created-at": readOnly(timestamp(), "When the state first had it."),
    "updated-at": readOnly(timestamp(), "When it was last changed."),
  },
  relationships: {
    workspace: toOne("workspaces", "The workspace that manages it.", {
      id: (resource) => resource.workspaceId,
      related: (resource) => `/api/v2/workspaces/${resource.workspaceId}`,
    }),
  },
  operations: {
    listWorkspaceResources: {
      method: "GET",
      path: "/workspaces/:workspace_id/resources",
      summary: "List what a workspace manages, by address",
      needs: "read access to the workspace's runs",
      query: { paged: true },
      answer: "list",
    },
    listOrganizationResources: {
      method: "GET",
      path: "/organizations/:organization_name/resources",
      summary: "List what the workspaces of an organization manage, by address",
      needs: "a member; shows what is in workspaces that the caller may read",
      query: {
        paged: true,
        sort: ["address"],
        include: ["workspace"],
        parameters: {
          "filter[type]": textParameter("Only resources of this type, in the provider's words: `aws_instance`."),
          "filter[provider]": textParameter("Only resources of this provider: `hashicorp/aws`."),
          "filter[module]": textParameter("Only resources in this module; `root` for those in none."),
        },
      },
      answer: "list",
    },
  },
}));
