/** The operations on runs. */
import { z } from "zod";
import type { Operation } from "../../../jsonapi/define.ts";
import { listParameter, searchParameter, textParameter } from "../../../jsonapi/query.ts";
import { text } from "../../../jsonapi/schemas.ts";

const byId = "/runs/:run_id";
export const runReaders = "read access to the workspace's runs";
const readers = `${runReaders}; a run, of itself`;

export const runIncludes = [
  "apply",
  "configuration_version",
  "configuration_version.ingress_attributes",
  "confirmed_by",
  "created_by",
  "plan",
  "workspace",
  // There is nothing behind these.
  "cost_estimate",
  "task_stages",
  "tf_policy_evaluations",
] as const;

const filters = {
  "filter[operation]": listParameter(
    "Only runs of these kinds, comma-separated: `plan_and_apply`, `plan_only`, `refresh_only`, `destroy`, `empty_apply`, `save_plan`, `action_only`.",
  ),
  "filter[status]": listParameter("Only runs with one of these statuses, comma-separated."),
  "filter[status_group]": textParameter("`non_final`, `final` or `discardable`."),
  "filter[source]": listParameter("Only runs that one of these made, comma-separated."),
  "filter[timeframe]": textParameter("A year, or `year` for the last twelve months."),
  "filter[agent_pool_names]": listParameter("Only runs for agents of one of these pools, comma-separated."),
  "search[user]": searchParameter("the name of who created it"),
  "search[commit]": searchParameter("the commit's id"),
  "search[basic]": searchParameter(
    "the creator's name, the commit, the id or the message",
    " Not used beside search[user] or search[commit].",
  ),
} as const;
const organizationFilters = {
  ...filters,
  "filter[workspace_names]": listParameter("Only runs of the workspaces of these names, comma-separated."),
} as const;

/** A word about it, as plain JSON: it becomes a comment. */
const action = {
  method: "POST",
  body: {
    custom: z
      .object({ comment: text({ max: 16_384 }).nullable().optional() })
      .loose()
      .optional(),
    optional: true,
  },
  answer: "accepted",
  example: { comment: "As we said this morning" },
} as const satisfies Partial<Operation>;
const appliers = "'apply' on the workspace's runs; not with an organization's token";
const siteAdmins = "a site admin; self-hosted edition only";

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
    summary: "List a workspace's runs, the newest first; those that only plan if filter[operation] names them",
    needs: runReaders,
    query: { paged: true, include: runIncludes, parameters: filters },
    answer: "list",
  },
  listOrganizationRuns: {
    method: "GET",
    path: "/organizations/:organization_name/runs",
    summary: "List an organization's runs, the newest first",
    needs: "a member; shows the runs of the workspaces that the caller may read",
    query: { paged: true, include: runIncludes, parameters: organizationFilters },
    answer: "list",
  },
  listOrganizationRunQueue: {
    method: "GET",
    path: "/organizations/:organization_name/runs/queue",
    summary: "List the runs that wait to be executed, in their order",
    needs: "a member; shows the runs of the workspaces that the caller may read",
    query: { paged: true, include: runIncludes },
    answer: "list",
  },
  showRun: {
    method: "GET",
    path: byId,
    summary: "Show a run",
    needs: readers,
    callers: "runs",
    query: { include: runIncludes },
    answer: "document",
  },
  applyRun: { ...action, path: `${byId}/actions/apply`, summary: "Confirm a planned run", needs: appliers },
  discardRun: {
    ...action,
    path: `${byId}/actions/discard`,
    summary: "Discard a run that waits, for its turn or to be confirmed",
    needs: appliers,
  },
  cancelRun: {
    ...action,
    path: `${byId}/actions/cancel`,
    summary: "Cancel a run; an engine that works is interrupted",
    needs:
      "'apply' on the workspace's runs; whoever made a plan-only run, with 'plan'; not with an organization's token",
  },
  forceCancelRun: {
    ...action,
    path: `${byId}/actions/force-cancel`,
    summary: "End a run that was canceled and does not stop",
    needs: "admin access to the workspace; not with an organization's token",
  },
  forceExecuteRun: {
    ...action,
    path: `${byId}/actions/force-execute`,
    summary: "Put a run first: what holds the workspace and what waits before it is discarded",
    needs: appliers,
  },
  listAdminRuns: {
    method: "GET",
    path: "/admin/runs",
    summary: "List the runs of all organizations, the newest first",
    needs: siteAdmins,
    query: {
      paged: true,
      include: ["workspace", "workspace.organization", "workspace.organization.owners"],
      parameters: {
        "filter[status]": filters["filter[status]"],
        "filter[from]": textParameter("Only runs made at this moment or later."),
        "filter[to]": textParameter("Only runs made at this moment or before."),
        q: searchParameter("the workspace's or organization's name", " Or the id of a run."),
      },
    },
    answer: "list",
  },
  forceCancelAdminRun: {
    ...action,
    path: "/admin/runs/:run_id/actions/force-cancel",
    summary: "End a run of any organization, whatever it does",
    needs: siteAdmins,
  },
} as const satisfies Record<string, Operation>;
