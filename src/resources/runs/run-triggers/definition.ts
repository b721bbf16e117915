/** The run-triggers resource: an apply in one workspace starts a run in another. */
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { RunTriggerTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choiceParameter } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export interface RunTriggerView extends RunTriggerTable {
  /** Null if the caller can't read the workspace. */
  readonly workspaceName: string | null;
  readonly sourceableName: string | null;
  readonly workspaceFactsVersion: number;
  readonly sourceableFactsVersion: number;
}

export type RunTriggerForActor = RunTriggerView & WorkspacePermissionInput;

const readers = "read access to the workspace's runs";
const byId = "/run-triggers/:run_trigger_id";
const ofWorkspace = "/workspaces/:workspace_id/run-triggers";
const includes = ["workspace", "sourceable"] as const;

export const runTriggers = defineResource<RunTriggerView>()(({ readOnly, toOne }) => ({
  type: "run-triggers",
  doc: "A run trigger starts a run in a workspace after every apply in another workspace, its source.",
  id: (trigger) => trigger.id,
  version: (trigger) => [trigger.version, trigger.workspaceFactsVersion, trigger.sourceableFactsVersion],
  attributes: {
    "workspace-name": readOnly(
      text().nullable(),
      "The name of the workspace in which runs are started; null if the caller can't read it.",
    ),
    "sourceable-name": readOnly(
      text().nullable(),
      "The name of the source workspace; null if the caller can't read it.",
    ),
    "created-at": readOnly(timestamp(), "When the run trigger was created."),
  },
  relationships: {
    workspace: toOne("workspaces", "The workspace in which runs are started.", {
      id: (trigger) => trigger.workspaceId,
    }),
    sourceable: toOne("workspaces", "The source workspace, whose applies start runs.", {
      create: "required",
      id: (trigger) => trigger.sourceableId,
    }),
  },
  links: (trigger) => ({ self: `/api/v2/run-triggers/${trigger.id}` }),
  operations: {
    listRunTriggers: {
      method: "GET",
      path: ofWorkspace,
      summary: "List the run triggers of a workspace, newest first",
      needs: readers,
      query: {
        paged: true,
        include: includes,
        parameters: {
          "filter[run-trigger][type]": {
            ...choiceParameter(
              ["inbound", "outbound"],
              "`inbound`: triggers that start runs in this workspace; `outbound`: triggers whose source is this workspace.",
            ),
            required: true,
          },
        },
      },
      answer: "list",
    },
    createRunTrigger: {
      method: "POST",
      path: ofWorkspace,
      summary: "Create a run trigger: every apply in the source workspace starts a run in this one",
      needs: "admin access to the workspace, and read access to the source workspace's runs",
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "run-triggers",
          relationships: { sourceable: { data: { type: "workspaces", id: "ws-1234567890abcdef" } } },
        },
      },
    },
    showRunTrigger: {
      method: "GET",
      path: byId,
      summary: "Show a run trigger",
      needs: readers,
      query: { include: includes },
      answer: "document",
    },
    deleteRunTrigger: {
      method: "DELETE",
      path: byId,
      summary: "Delete a run trigger",
      needs: "admin access to the workspace in which runs are started",
      answer: "nothing",
    },
  },
}));
