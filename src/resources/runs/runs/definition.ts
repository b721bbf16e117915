/** A run: one plan of a workspace's configuration, and what becomes of it. */
import { z } from "zod";
import { runPermissionNames } from "../../../access/permissions/run.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { listParameter, searchParameter, textParameter } from "../../../jsonapi/query.ts";
import { flag, flags, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { isIdOf } from "../../../kernel/ids.ts";
import { isExactVersion } from "../../site/terraform-versions/versions.ts";
import { actionsOf, type RunView, updatedAtOf, waitingForOf } from "./view.ts";

const messageByDefault = "Queued manually via the Terraform Enterprise API";

const addresses = text({ min: 1, max: 1024 }).array().max(1000).nullable();
const engineVersion = text({ min: 1, max: 100 }).superRefine((value, context) => {
  if (!isExactVersion(value)) context.addIssue({ code: "custom", message: "must be an exact version such as 1.9.5" });
});
const variable = z.object({ key: text({ min: 1, max: 256 }), value: text({ max: 256 * 1024 }) });

/** Ids as they are joined by commas. */
const idList = (joined: string | null): readonly string[] =>
  joined === null || joined === "" ? [] : joined.split(",");

interface Sent {
  readonly isDestroy?: boolean;
  readonly refreshOnly?: boolean;
  readonly planOnly?: boolean;
  readonly savePlan?: boolean;
  readonly invokeActionAddrs?: readonly string[] | null;
  readonly targetAddrs?: readonly string[] | null;
}

/** What can't be asked for together. */
function bodyFaults(sent: Sent): Fault[] {
  const faults: Fault[] = [];
  if (sent.isDestroy && sent.refreshOnly)
    faults.push(attributeFault("refresh-only", "Refresh only can't be sent together with is-destroy"));
  if (sent.planOnly && sent.savePlan)
    faults.push(attributeFault("save-plan", "Save plan can't be sent together with plan-only"));
  if (sent.invokeActionAddrs?.length && (sent.isDestroy || sent.targetAddrs?.length))
    faults.push(
      attributeFault(
        "invoke-action-addrs",
        "Invoke action addrs can't be sent together with target-addrs or is-destroy",
      ),
    );
  return faults;
}

const byId = "/runs/:run_id";
export const runReaders = "read access to the workspace's runs";
const readers = `${runReaders}; a run, of itself`;

const runIncludes = [
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

const runOperations = {
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

export const runs = defineResource<RunView>()(({ fixed, readOnly, toOne, toMany }) => ({
  type: "runs",
  doc: "One plan of a workspace's configuration, and what becomes of it.",
  id: (run) => run.id,
  // Its place in the queue, what it waits for and what can be done to it depend on others and on the time.
  hasExpiring: true,
  attributes: {
    actions: readOnly(
      flags(["is-cancelable", "is-confirmable", "is-discardable", "is-force-cancelable"]),
      "What can be done to it, as far as its status says.",
      { from: actionsOf, audited: false },
    ),
    "allow-config-generation": fixed(flag(), "Whether the plan may write configuration for what it imports.", {
      default: false,
    }),
    "allow-empty-apply": fixed(flag(), "Whether a plan without changes is applied all the same.", { default: false }),
    "auto-apply": fixed(
      flag(),
      "Whether a plan with changes is applied by itself. The workspace's setting when it is not sent; never for whoever may not apply.",
    ),
    "canceled-at": readOnly(timestamp().nullable(), "When somebody asked to cancel it.", { audited: false }),
    "created-at": readOnly(timestamp(), "When it was made."),
    "debugging-mode": fixed(flag(), "Whether the engine tells all that it does in its log.", { default: false }),
    engine: readOnly(text(), "What executes it: `terraform` or `tofu`."),
    "engine-version": fixed(
      engineVersion,
      "The exact version that executes it: the workspace's. Only a plan-only run may name another.",
      { column: false },
    ),
    "force-cancel-available-at": readOnly(timestamp().nullable(), "From when on a cancel can be forced.", {
      audited: false,
    }),
    "has-changes": readOnly(flag(), "Whether the plan has changes, as the engine says.", { audited: false }),
    "invoke-action-addrs": fixed(
      addresses,
      "Addresses of actions to invoke. Not supported yet: such a run is shown, and ends as `errored` before anything is planned.",
      { default: null },
    ),
    "is-destroy": fixed(flag(), "Whether it plans to destroy all that is managed.", { default: false }),
    message: fixed(text({ max: 16_384 }), "Why it is made, for people.", { default: messageByDefault }),
    permissions: readOnly(flags(runPermissionNames), "What the caller may do.", { audited: false }),
    "plan-only": fixed(flag(), "Whether it can't be applied. True for a speculative configuration."),
    "policy-paths": fixed(addresses, "Stored and shown.", { default: null }),
    "position-in-queue": readOnly(
      wholeNumber(),
      "Its place among the organization's jobs that wait to be executed, from 1; 0 while it does not wait.",
      { audited: false },
    ),
    refresh: fixed(flag(), "Whether the state is refreshed before planning.", { default: true }),
    "refresh-only": fixed(flag(), "Whether it takes the real state over and changes nothing.", { default: false }),
    "replace-addrs": fixed(addresses, "Addresses of what is replaced.", { default: null }),
    "save-plan": fixed(flag(), "Whether the plan is kept, without the workspace's lock, until it is confirmed.", {
      default: false,
    }),
    source: readOnly(
      text(),
      "What made it: `tfe-api`, `tfe-ui`, `tfe-configuration-version`, `tfe-run-trigger`, `terraform` or `terraform+cloud`.",
    ),
    status: readOnly(text(), "Where it is."),
    "status-timestamps": readOnly(z.record(z.string(), z.string()), "When it came where.", {
      from: ({ statusTimestamps }) => new JsonText(statusTimestamps),
      audited: false,
    }),
    "target-addrs": fixed(addresses, "Addresses of what is planned alone.", { default: null }),
    "trigger-reason": readOnly(text(), "`manual`, `vcs`, `run_trigger`, `auto_destroy` or `assessment`."),
    "triggering-source-name": readOnly(
      text().nullable(),
      "The workspace whose apply started it; null where none did, or where the caller may not read that workspace.",
      { audited: false },
    ),
    "updated-at": readOnly(timestamp(), "When it last came to another status.", { from: updatedAtOf, audited: false }),
    variables: fixed(variable.array().max(1000), "Variables for this run alone; each value is an HCL literal.", {
      from: ({ shownVariables }) => shownVariables,
      audited: false,
      column: false,
    }),
    "waiting-for": readOnly(text().nullable(), "What it waits for, as a sentence; null when it waits for nothing.", {
      from: waitingForOf,
      audited: false,
    }),
  },
  relationships: {
    apply: toOne("applies", "Its apply, which is there from the first moment.", { id: (run) => run.applyId }),
    comments: toMany("comments", "What people said about it.", {
      ids: (run) => idList(run.commentIds),
      related: (run) => `/api/v2/runs/${run.id}/comments`,
    }),
    "configuration-version": toOne(
      "configuration-versions",
      "What it executes; the workspace's current one when it is not sent.",
      {
        create: "optional",
        nullable: true,
        id: (run) => run.configurationVersionId,
        related: (run) => `/api/v2/runs/${run.id}/configuration-version`,
      },
    ),
    "confirmed-by": toOne(["users", "teams"], "Who confirmed it.", {
      nullable: true,
      id: (run) => run.confirmedById,
      type: (run) => (isIdOf("teams", run.confirmedById ?? "") ? "teams" : "users"),
    }),
    "cost-estimate": toOne("cost-estimates", "There is none.", { nullable: true, id: () => null }),
    "created-by": toOne(["users", "teams"], "Who made it; null for a schedule or another run.", {
      nullable: true,
      id: (run) => run.createdById,
      type: (run) => (run.createdByKind === "team" ? "teams" : "users"),
    }),
    "input-state-version": toOne("state-versions", "The state that it started from.", {
      nullable: true,
      id: (run) => run.inputStateVersionId,
    }),
    plan: toOne("plans", "Its plan, which is there from the first moment.", { id: (run) => run.planId }),
    "policy-checks": toMany("policy-checks", "There are none.", { ids: () => [] }),
    "run-events": toMany("run-events", "What happened to it.", {
      ids: (run) => idList(run.eventIds),
      related: (run) => `/api/v2/runs/${run.id}/run-events`,
    }),
    "task-stages": toMany("task-stages", "There are none.", { ids: () => [] }),
    workspace: toOne("workspaces", "The workspace that it runs in.", {
      create: "required",
      id: (run) => run.workspaceId,
    }),
    "workspace-run-alerts": toMany("workspace-run-alerts", "There are none.", { ids: () => [] }),
  },
  links: (run) => ({ self: `/api/v2/runs/${run.id}` }),
  bodyFaults,
  operations: runOperations,
}));
