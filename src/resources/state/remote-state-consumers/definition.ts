/** The workspaces that may read a workspace's state. They are shown as workspaces; there is no document of its own. */
import { defineResource } from "../../../jsonapi/define.ts";
import { workspaces } from "../../register/workspaces/definition.ts";

const path = "/workspaces/:workspace_id/relationships/remote-state-consumers";
const example = { data: [{ type: "workspaces", id: "ws-1234567890abcdef" }] };

export const remoteStateConsumers = defineResource<{ readonly id: string }>()(() => ({
  type: "remote-state-consumers",
  doc: "The workspaces that may read a workspace's state, where it is not shared with the whole organization.",
  id: (consumer) => consumer.id,
  attributes: {},
  relationships: {},
  operations: {
    listRemoteStateConsumers: {
      method: "GET",
      path,
      summary: "List the workspaces that may read a workspace's state",
      needs: "read access to the workspace's runs; shows the workspaces that the caller may read",
      query: { paged: true },
      answer: "list",
      answers: "workspaces",
    },
    replaceRemoteStateConsumers: {
      method: "PATCH",
      path,
      ifMatch: workspaces,
      summary: "Replace the list of workspaces that may read a workspace's state",
      needs: "an owner, a team with 'manage-workspaces', or the organization's token",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example,
    },
    addRemoteStateConsumers: {
      method: "POST",
      path,
      summary: "Let workspaces read a workspace's state",
      needs: "admin access to the workspace, and read access to the others",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example,
    },
    removeRemoteStateConsumers: {
      method: "DELETE",
      path,
      ifMatch: workspaces,
      summary: "Let workspaces no longer read a workspace's state",
      needs: "admin access to the workspace, and read access to the others",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example,
    },
  },
}));
