/** The list of workspaces that can read a workspace's state. */
import { defineResource } from "../../../jsonapi/define.ts";
import { workspaces } from "../../register/workspaces/definition.ts";

const path = "/workspaces/:workspace_id/relationships/remote-state-consumers";
const example = { data: [{ type: "workspaces", id: "ws-1234567890abcdef" }] };

export const remoteStateConsumers = defineResource<{ readonly id: string }>()(() => ({
  type: "remote-state-consumers",
  doc: "The workspaces that can read a workspace's state, unless it is shared with the whole organization or project.",
  id: (consumer) => consumer.id,
  attributes: {},
  relationships: {},
  operations: {
    listRemoteStateConsumers: {
      method: "GET",
      path,
      summary: "List the workspaces that can read a workspace's state",
      needs: "read access to the workspace's runs; lists the workspaces that the caller can read",
      query: { paged: true },
      answer: "list",
      answerType: "workspaces",
    },
    replaceRemoteStateConsumers: {
      method: "PATCH",
      path,
      ifMatch: workspaces,
      summary: "Replace the list of workspaces that can read a workspace's state",
      needs: "an owner, a team with 'manage-workspaces', or the organization's token",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example,
    },
    addRemoteStateConsumers: {
      method: "POST",
      path,
      summary: "Allow workspaces to read a workspace's state",
      needs: "admin access to the workspace, and read access to the others",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example,
    },
    removeRemoteStateConsumers: {
      method: "DELETE",
      path,
      ifMatch: workspaces,
      summary: "Stop workspaces from reading a workspace's state",
      needs: "admin access to the workspace, and read access to the others",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example,
    },
  },
}));
