/** A run trigger: every apply of one workspace starts a run in another. */
import type { WorkspaceFacts } from "../../../access/permissions/workspace.ts";
import type { RunTriggerTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choice } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export interface RunTriggerView extends RunTriggerTable {
  /** Null where the caller can't read the workspace. */
  readonly workspaceName: string | null;
  readonly sourceableName: string | null;
  /** How often what is shown of the two has changed. */
  readonly workspaceFacts: number;
  readonly sourceableFacts: number;
}

/** With what the caller holds on the workspace in which runs are started. */
export type RunTriggerForActor = RunTriggerView & WorkspaceFacts;

const readers = "read access to the workspace's runs";
const byId = "/run-triggers/:run_trigger_id";
const ofWorkspace = "/workspaces/:workspace_id/run-triggers";
const includes = ["workspace", "sourceable"] as const;

export const runTriggers = defineResource<RunTriggerView>()(({ readOnly, toOne }) => ({
  type: "run-triggers",
  doc: "Every apply of one workspace, the source, starts a run in another.",
  id: (trigger) => trigger.id,
  version: (trigger) => [trigger.version, trigger.workspaceFacts, trigger.sourceableFacts],
  attributes: {
    "workspace-name": readOnly(
      text().nullable(),
      "The workspace in which runs are started; null where the caller can't read it.",
    ),
    "sourceable-name": readOnly(
      text().nullable(),
      "The workspace whose applies start them; null where the caller can't read it.",
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    workspace: toOne("workspaces", "The workspace in which runs are started.", {
      id: (trigger) => trigger.workspaceId,
    }),
    sourceable: toOne("workspaces", "The workspace whose applies start them.", {
      create: "required",
      id: (trigger) => trigger.sourceableId,
    }),
  },
  links: (trigger) => ({ self: `/api/v2/run-triggers/${trigger.id}` }),
  operations: {
    listRunTriggers: {
      method: "GET",
      path: ofWorkspace,
      summary: "List the run triggers of a workspace, the newest first",
      needs: readers,
      query: {
        paged: true,
        include: includes,
        parameters: {
          "filter[run-trigger][type]": {
            ...choice(
              ["inbound", "outbound"],
              "`inbound`: those that start runs in the workspace; `outbound`: those that its applies start elsewhere.",
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
      summary: "Have every apply of another workspace start a run in this one",
      needs: "admin access to the workspace, and read access to the other's runs",
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
