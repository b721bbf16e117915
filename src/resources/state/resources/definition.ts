/** The managed resource: one address in a workspace's current state. */
import type { StateResourceTable } from "../../../database/schema/state.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export interface ManagedResourceView extends StateResourceTable {
  readonly workspaceId: string;
}

export const managedResources = defineResource<ManagedResourceView>()(({ readOnly, toOne }) => ({
  type: "resources",
  doc: "A resource that a workspace manages: one address in its current state.",
  id: (resource) => resource.id,
  attributes: {
    address: readOnly(text(), "The address in the configuration, with module and index."),
    name: readOnly(text(), "The resource's name in the configuration."),
    "name-index": readOnly(text().nullable(), "The index, if the resource uses `count` or `for_each`."),
    module: readOnly(text(), "The module that contains the resource; `root` for the root module."),
    provider: readOnly(text(), "The provider, such as `hashicorp/aws`."),
    "provider-type": readOnly(text(), "The provider's resource type, such as `aws_instance`.", {
      from: (resource) => resource.type,
    }),
    "modified-by-state-version-id": readOnly(text(), "The state version that last changed the resource."),
    "created-at": readOnly(timestamp(), "When the resource first appeared in the state."),
    "updated-at": readOnly(timestamp(), "When the resource was last changed."),
  },
  relationships: {
    workspace: toOne("workspaces", "The workspace that manages the resource.", {
      id: (resource) => resource.workspaceId,
      related: (resource) => `/api/v2/workspaces/${resource.workspaceId}`,
    }),
  },
  operations: {
    listWorkspaceResources: {
      method: "GET",
      path: "/workspaces/:workspace_id/resources",
      summary: "List the resources of a workspace by address",
      needs: "read access to the workspace's runs",
      query: { paged: true },
      answer: "list",
    },
    listOrganizationResources: {
      method: "GET",
      path: "/organizations/:organization_name/resources",
      summary: "List the resources of an organization's workspaces by address",
      needs: "a member; lists the resources of workspaces that the caller can read",
      query: {
        paged: true,
        sort: ["address"],
        include: ["workspace"],
        parameters: {
          "filter[type]": textParameter("Returns only resources of this type, such as `aws_instance`."),
          "filter[provider]": textParameter("Returns only resources of this provider, such as `hashicorp/aws`."),
          "filter[module]": textParameter("Returns only resources in this module; `root` for the root module."),
        },
      },
      answer: "list",
    },
  },
}));
