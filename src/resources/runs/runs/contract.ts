/** The operations on runs. */
import type { Operation } from "../../../jsonapi/define.ts";

const byId = "/runs/:run_id";
export const runReaders = "read access to the workspace's runs";

export const runOperations = {
  createRun: {
    method: "POST",
    path: "/runs",
    summary: "Start a run",
    needs:
      "'plan' on the workspace's runs; 'apply' for a run that may destroy everything; not with an organization's token",
    body: "create",
    answer: "created",
    example: {
      data: {
        type: "runs",
        attributes: { message: "Try the new network" },
        relationships: {
          workspace: { data: { type: "workspaces", id: "ws-1234567890abcdef" } },
          "configuration-version": { data: { type: "configuration-versions", id: "cv-1234567890abcdef" } },
        },
      },
    },
  },
  listWorkspaceRuns: {
    method: "GET",
    path: "/workspaces/:workspace_id/runs",
    summary: "List a workspace's runs, the newest first",
    needs: runReaders,
    query: { paged: true },
    answer: "list",
  },
  showRun: {
    method: "GET",
    path: byId,
    summary: "Show a run",
    needs: runReaders,
    answer: "document",
  },
} as const satisfies Record<string, Operation>;
