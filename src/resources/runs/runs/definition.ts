/** The runs resource: attributes, relationships and operations. */
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

const idList = (joined: string | null): readonly string[] =>
  joined === null || joined === "" ? [] : joined.split(",");

interface RunBody {
  readonly isDestroy?: boolean;
  readonly refreshOnly?: boolean;
  readonly planOnly?: boolean;
  readonly savePlan?: boolean;
  readonly invokeActionAddrs?: readonly string[] | null;
  readonly targetAddrs?: readonly string[] | null;
}

function bodyFaults(body: RunBody): Fault[] {
  const faults: Fault[] = [];
  if (body.isDestroy && body.refreshOnly)
    faults.push(attributeFault("refresh-only", "Refresh only can't be sent together with is-destroy"));
  if (body.planOnly && body.savePlan)
    faults.push(attributeFault("save-plan", "Save plan can't be sent together with plan-only"));
  if (body.invokeActionAddrs?.length && (body.isDestroy || body.targetAddrs?.length))
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

const runIncludes = [
  "apply",
  "configuration_version",
  "configuration_version.ingress_attributes",
  "confirmed_by",
  "created_by",
  "plan",
  "workspace",
  // Accepted for clients that request them; always empty.
  "cost_estimate",
  "task_stages",
  "tf_policy_evaluations",
] as const;

const filters = {
  "filter[operation]": listParameter(
    "Only runs with these operations, comma-separated: `plan_and_apply`, `plan_only`, `refresh_only`, `destroy`, `empty_apply`, `save_plan`, `action_only`.",
  ),
  "filter[status]": listParameter("Only runs with one of these statuses, comma-separated."),
  "filter[status_group]": textParameter("Only runs in this group of statuses: `non_final`, `final` or `discardable`."),
  "filter[source]": listParameter("Only runs with one of these sources, comma-separated."),
  "filter[timeframe]": textParameter("Only runs created in this year (`2026`), or `year` for the last twelve months."),
  "filter[agent_pool_names]": listParameter("Only runs for agents of one of these pools, comma-separated."),
  "search[user]": searchParameter("the creator's name"),
  "search[commit]": searchParameter("the commit SHA"),
  "search[basic]": searchParameter(
    "the creator's name, the commit SHA, the run's id or its message",
    " Ignored together with search[user] or search[commit].",
  ),
} as const;
const organizationFilters = {
  ...filters,
  "filter[workspace_names]": listParameter("Only runs of the workspaces with these names, comma-separated."),
} as const;

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
  example: { comment: "As discussed this morning" },
} as const satisfies Partial<Operation>;
const appliers = "'apply' on the workspace's runs; not with an organization's token";
const siteAdmins = "a site admin; self-hosted edition only";

const runOperations = {
  createRun: {
    method: "POST",
    path: "/runs",
    summary: "Start a run",
    needs:
      "'plan' on the workspace's runs; 'apply' for a destroy run that is not plan-only; not with an organization's token",
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
    summary: "List a workspace's runs, newest first; plan-only runs only if filter[operation] names them",
    needs: runReaders,
    query: { paged: true, include: runIncludes, parameters: filters },
    answer: "list",
  },
  listOrganizationRuns: {
    method: "GET",
    path: "/organizations/:organization_name/runs",
    summary: "List an organization's runs, newest first",
    needs: "a member; shows the runs of the workspaces that the caller can read",
    query: { paged: true, include: runIncludes, parameters: organizationFilters },
    answer: "list",
  },
  listOrganizationRunQueue: {
    method: "GET",
    path: "/organizations/:organization_name/runs/queue",
    summary: "List an organization's queued runs, in queue order",
    needs: "a member; shows the runs of the workspaces that the caller can read",
    query: { paged: true, include: runIncludes },
    answer: "list",
  },
  showRun: {
    method: "GET",
    path: byId,
    summary: "Show a run",
    needs: runReaders,
    callers: "runs",
    query: { include: runIncludes },
    answer: "document",
  },
  applyRun: { ...action, path: `${byId}/actions/apply`, summary: "Confirm a planned run", needs: appliers },
  discardRun: {
    ...action,
    path: `${byId}/actions/discard`,
    summary: "Discard a run that is pending or needs confirmation",
    needs: appliers,
  },
  cancelRun: {
    ...action,
    path: `${byId}/actions/cancel`,
    summary: "Cancel a run; a running engine is interrupted",
    needs:
      "'apply' on the workspace's runs; the creator of a plan-only run, with 'plan'; not with an organization's token",
  },
  forceCancelRun: {
    ...action,
    path: `${byId}/actions/force-cancel`,
    summary: "Force-cancel a run that was canceled and has not stopped",
    needs: "admin access to the workspace; not with an organization's token",
  },
  forceExecuteRun: {
    ...action,
    path: `${byId}/actions/force-execute`,
    summary:
      "Execute a pending run next; discards the run that holds the workspace lock and the pending runs before it",
    needs: appliers,
  },
  listAdminRuns: {
    method: "GET",
    path: "/admin/runs",
    summary: "List the runs of all organizations, newest first",
    needs: siteAdmins,
    query: {
      paged: true,
      include: ["workspace", "workspace.organization", "workspace.organization.owners"],
      parameters: {
        "filter[status]": filters["filter[status]"],
        "filter[from]": textParameter("Only runs created at this time or later."),
        "filter[to]": textParameter("Only runs created at this time or earlier."),
        q: searchParameter("the workspace's or organization's name", " A run's id is matched exactly."),
      },
    },
    answer: "list",
  },
  forceCancelAdminRun: {
    ...action,
    path: "/admin/runs/:run_id/actions/force-cancel",
    summary: "Force-cancel a run of any organization, in any status that is not final",
    needs: siteAdmins,
  },
} as const satisfies Record<string, Operation>;

export const runs = defineResource<RunView>()(({ fixed, readOnly, toOne, toMany }) => ({
  type: "runs",
  doc: "A run plans a workspace's configuration and, once confirmed, applies the plan.",
  id: (run) => run.id,
  // position-in-queue, waiting-for and actions depend on other rows and on the time.
  isUncacheable: true,
  attributes: {
    actions: readOnly(
      flags(["is-cancelable", "is-confirmable", "is-discardable", "is-force-cancelable"]),
      "The actions that the run's status allows.",
      { from: actionsOf, audited: false },
    ),
    "allow-config-generation": fixed(flag(), "Whether the plan can generate configuration for imported resources.", {
      default: false,
    }),
    "allow-empty-apply": fixed(flag(), "Whether a plan without changes can be applied.", { default: false }),
    "auto-apply": fixed(
      flag(),
      "Whether a plan with changes is applied automatically. Defaults to the workspace's setting; always false if the caller can't apply.",
    ),
    "canceled-at": readOnly(timestamp().nullable(), "When the run was canceled.", { audited: false }),
    "created-at": readOnly(timestamp(), "When the run was created."),
    "debugging-mode": fixed(flag(), "Whether the engine writes debug output to the log.", { default: false }),
    engine: readOnly(text(), "The engine that executes the run: `terraform` or `tofu`."),
    "engine-version": fixed(
      engineVersion,
      "The exact engine version. Defaults to the workspace's version; only a plan-only run can set another.",
      { column: false },
    ),
    "force-cancel-available-at": readOnly(timestamp().nullable(), "When a canceled run can be force-canceled.", {
      audited: false,
    }),
    "has-changes": readOnly(flag(), "Whether the plan has changes.", { audited: false }),
    "invoke-action-addrs": fixed(
      addresses,
      "Addresses of actions to invoke. Not supported yet: such a run is created and ends as `errored` before it plans anything.",
      { default: null },
    ),
    "is-destroy": fixed(flag(), "Whether the run destroys all managed resources.", { default: false }),
    message: fixed(text({ max: 16_384 }), "The reason for the run.", { default: messageByDefault }),
    permissions: readOnly(flags(runPermissionNames), "The caller's permissions on the run.", { audited: false }),
    "plan-only": fixed(
      flag(),
      "Whether the run only plans and can't be applied. Defaults to true for a speculative configuration version.",
    ),
    "policy-paths": fixed(addresses, "Stored and returned, but not used.", { default: null }),
    "position-in-queue": readOnly(
      wholeNumber(),
      "The run's position in the organization's queue, from 1; 0 if it is not queued.",
      { audited: false },
    ),
    refresh: fixed(flag(), "Whether the state is refreshed before planning.", { default: true }),
    "refresh-only": fixed(flag(), "Whether the run only updates the state to match the real resources.", {
      default: false,
    }),
    "replace-addrs": fixed(addresses, "Addresses of resources to replace.", { default: null }),
    "save-plan": fixed(flag(), "Whether the plan is saved, without the workspace lock, until it is confirmed.", {
      default: false,
    }),
    source: readOnly(
      text(),
      "What created the run: `tfe-api`, `tfe-ui`, `tfe-configuration-version`, `tfe-run-trigger`, `terraform` or `terraform+cloud`.",
    ),
    status: readOnly(text(), "The run's status."),
    "status-timestamps": readOnly(z.record(z.string(), z.string()), "When the run reached each status.", {
      from: ({ statusTimestamps }) => new JsonText(statusTimestamps),
      audited: false,
    }),
    "target-addrs": fixed(addresses, "Addresses of the only resources to plan.", { default: null }),
    "trigger-reason": readOnly(
      text(),
      "What started the run: `manual`, `vcs`, `run_trigger`, `auto_destroy` or `assessment`.",
    ),
    "triggering-source-name": readOnly(
      text().nullable(),
      "The workspace whose apply started the run; null if none did, or if the caller can't read that workspace.",
      { audited: false },
    ),
    "updated-at": readOnly(timestamp(), "When the run's status last changed.", { from: updatedAtOf, audited: false }),
    variables: fixed(variable.array().max(1000), "Variables for this run only; each value is an HCL literal.", {
      from: ({ shownVariables }) => shownVariables,
      audited: false,
      column: false,
    }),
    "waiting-for": readOnly(
      text().nullable(),
      "A sentence that says what the run waits for; null if it waits for nothing.",
      {
        from: waitingForOf,
        audited: false,
      },
    ),
  },
  relationships: {
    apply: toOne("applies", "The run's apply. It exists from the start.", { id: (run) => run.applyId }),
    comments: toMany("comments", "Comments on the run.", {
      ids: (run) => idList(run.commentIds),
      related: (run) => `/api/v2/runs/${run.id}/comments`,
    }),
    "configuration-version": toOne(
      "configuration-versions",
      "The configuration version to execute. Defaults to the workspace's current one.",
      {
        create: "optional",
        nullable: true,
        id: (run) => run.configurationVersionId,
        related: (run) => `/api/v2/runs/${run.id}/configuration-version`,
      },
    ),
    "confirmed-by": toOne(["users", "teams"], "Who confirmed the run.", {
      nullable: true,
      id: (run) => run.confirmedById,
      type: (run) => (isIdOf("teams", run.confirmedById ?? "") ? "teams" : "users"),
    }),
    "cost-estimate": toOne("cost-estimates", "Always null.", { nullable: true, id: () => null }),
    "created-by": toOne(
      ["users", "teams"],
      "Who created the run; null if a schedule, version control or another run did.",
      {
        nullable: true,
        id: (run) => run.createdById,
        type: (run) => (run.createdByKind === "team" ? "teams" : "users"),
      },
    ),
    "input-state-version": toOne("state-versions", "The state that the plan started from.", {
      nullable: true,
      id: (run) => run.inputStateVersionId,
    }),
    plan: toOne("plans", "The run's plan. It exists from the start.", { id: (run) => run.planId }),
    "policy-checks": toMany("policy-checks", "Always empty.", { ids: () => [] }),
    "run-events": toMany("run-events", "The run's events.", {
      ids: (run) => idList(run.eventIds),
      related: (run) => `/api/v2/runs/${run.id}/run-events`,
    }),
    "task-stages": toMany("task-stages", "Always empty.", { ids: () => [] }),
    workspace: toOne("workspaces", "The run's workspace.", {
      create: "required",
      id: (run) => run.workspaceId,
    }),
    "workspace-run-alerts": toMany("workspace-run-alerts", "Always empty.", { ids: () => [] }),
  },
  links: (run) => ({ self: `/api/v2/runs/${run.id}` }),
  bodyFaults,
  operations: runOperations,
}));
