/** Operations on runs: load → authorize → decide → write. */
import type { Granted } from "../../../access/granted.ts";
import type { RunPermission } from "../../../access/permissions/run.ts";
import type { Tx } from "../../../database/database.ts";
import type { IncludedResource } from "../../../jsonapi/define.ts";
import { AppError, conflict, forbidden, notFound } from "../../../kernel/errors.ts";
import { parseTimestamp } from "../../../kernel/time.ts";
import { loadIncludedOrganizations } from "../../identity/admin-organizations/reads.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { withSiteAdminProof, type SiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { runs } from "./definition.ts";
import { transitionRun, createRun, forceExecute } from "./lifecycle.ts";
import { pageOfOrganizationRuns, pageOfQueue, pageOfSiteRuns, pageOfWorkspaceRuns, type RunFilters } from "./list.ts";
import { isDiscardable } from "./state-machine.ts";
import { authorizeRun, loadRunForUpdate, loadRun, lockRun } from "./reads.ts";
import { findRunById, findWaitingBefore } from "./store.ts";
import type { RunView } from "./view.ts";

export const runResource = implement(runs, {
  async createRun({ context, body: { attributes, relationships } }) {
    return context.database.write(async (tx) => {
      const workspaceId = relationships.workspace;
      if (workspaceId === null) throw notFound("workspace");
      const found = await loadWorkspace(tx, context, { workspaceId }, "change");
      const workspace = authorizeWorkspace(found, "can-queue-run", "hide");
      const destroys = attributes.isDestroy === true && attributes.planOnly !== true;
      if (destroys) authorizeWorkspace(workspace, "can-queue-destroy", "hide");
      const input = {
        ...attributes,
        configurationVersionId: relationships.configurationVersion,
        source: sourceOf(context),
        triggerReason: "manual",
      } as const;
      const { id } = await createRun(tx, context, workspace, input);
      return { view: await loadRun(tx, context, id) };
    });
  },

  async listWorkspaceRuns({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, params), "can-read-run");
    const { views, totalCount } = await pageOfWorkspaceRuns(tx, context, workspace, {
      page: query.page,
      ...filtersOf(query),
    });
    return { views, totalCount, included: await loadIncluded(tx, context, runs, views, query.include) };
  },

  async listOrganizationRuns({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { views, hasMore } = await pageOfOrganizationRuns(tx, context, organization, {
      page: query.page,
      workspaceNames: query.filterWorkspaceNames,
      ...filtersOf(query),
    });
    return { views, hasMore, included: await loadIncluded(tx, context, runs, views, query.include) };
  },

  async listOrganizationRunQueue({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { views, totalCount } = await pageOfQueue(tx, context, organization, query.page);
    return { views, totalCount, included: await loadIncluded(tx, context, runs, views, query.include) };
  },

  async showRun({ context, params, query }) {
    const tx = context.database.reader;
    const { actor } = context;
    if (actor.kind === "run" && actor.runId !== params.runId) throw notFound("run");
    const view = await loadRun(tx, context, params.runId);
    return { view, included: await loadIncluded(tx, context, runs, [view], query.include) };
  },

  applyRun: ({ context, params, body }) =>
    withRun(context, params.runId, "can-apply", (tx, run) =>
      transitionRun(tx, context, run, { event: "apply", comment: body?.comment }),
    ),
  discardRun: ({ context, params, body }) =>
    withRun(context, params.runId, "can-discard", (tx, run) =>
      transitionRun(tx, context, run, { event: "discard", comment: body?.comment }),
    ),
  cancelRun: ({ context, params, body }) =>
    withRun(context, params.runId, "can-cancel", (tx, run) =>
      transitionRun(tx, context, run, { event: "cancel", comment: body?.comment }),
    ),
  forceCancelRun: ({ context, params, body }) =>
    withRun(context, params.runId, "can-force-cancel", (tx, run) =>
      transitionRun(tx, context, run, { event: "force-cancel", comment: body?.comment }),
    ),
  forceExecuteRun: ({ context, params, body }) =>
    withRun(context, params.runId, "can-force-execute", async (tx, run) => {
      const holder = await requireDiscardableHolder(tx, run);
      const waiting = await findWaitingBefore(tx, run);
      await forceExecute(tx, context, run, { holder, waiting, comment: body?.comment });
    }),

  async listAdminRuns({ context, query }) {
    const admin = requireSiteAdmin(context.actor);
    if (context.options.edition === "hosted") throw notFound("path");
    const tx = context.database.reader;
    const { views, totalCount } = await pageOfSiteRuns(tx, context, admin, {
      page: query.page,
      statuses: query.filterStatus,
      from: parseTimeFilter("filter[from]", query.filterFrom),
      to: parseTimeFilter("filter[to]", query.filterTo),
      search: query.q,
    });
    return { views, totalCount, included: await includedForAdmins(tx, context, admin, views, query.include) };
  },
  forceCancelAdminRun: ({ context, params, body }) => forceCancelAsAdmin(context, params.runId, body),
});

type RunActionBody = { readonly comment?: string | null | undefined } | undefined;

async function withRun<Permission extends RunPermission>(
  context: Context,
  runId: string,
  permission: Permission,
  change: (tx: Tx, run: Granted<RunView, Permission>) => Promise<unknown>,
): Promise<void> {
  await context.database.write(async (tx) => {
    await change(tx, authorizeRun(await loadRunForUpdate(tx, context, runId), permission));
  });
}

async function requireDiscardableHolder(tx: Tx, run: RunView) {
  if (run.status !== "pending" || run.lockedByType !== "runs" || run.lockedById === null)
    throw forbidden(
      `The run can't be force-executed: it is ${run.status}, and ${
        run.lockedByType === "runs" ? "a run holds" : "no run holds"
      } the workspace lock. Only a pending run that waits for another run can be force-executed.`,
    );
  const holder = await findRunById(tx, run.lockedById);
  if (holder === undefined) throw notFound("run");
  if (!isDiscardable(holder.status))
    throw conflict(
      `The run can't be force-executed: run ${holder.id}, which holds the workspace lock, is ${holder.status} and can't be discarded. Wait until it is planned, or cancel it.`,
    );
  return holder;
}

/** Without the waiting time that others have. */
async function forceCancelAsAdmin(context: Context, runId: string, body: RunActionBody): Promise<void> {
  const admin = requireSiteAdmin(context.actor);
  if (context.options.edition === "hosted") throw notFound("path");
  await context.database.write(async (tx) => {
    const run = withSiteAdminProof(admin, await lockRun(tx, runId));
    const isRunning = run.status === "planning" || run.status === "applying";
    if (!isRunning && !isDiscardable(run.status)) {
      await transitionRun(tx, context, run, { event: "cancel", comment: body?.comment });
      return;
    }
    // The state machine only force-cancels a run whose cancel was requested long enough ago.
    const longAgo = new Date(0).toISOString();
    const canceled = { ...run, canceledAt: run.canceledAt ?? longAgo, forceCancelAvailableAt: longAgo };
    await transitionRun(tx, context, withSiteAdminProof(admin, canceled), {
      event: "force-cancel",
      comment: body?.comment,
    });
  });
}

function sourceOf({ integration, source }: Context): string {
  if (integration === "cloud") return "terraform+cloud";
  return integration === "remote" ? "terraform" : source === "tfe-ui" ? "tfe-ui" : "tfe-api";
}

interface RunListFilterParams {
  readonly filterOperation: string[] | undefined;
  readonly filterStatus: string[] | undefined;
  readonly filterStatusGroup: string | undefined;
  readonly filterSource: string[] | undefined;
  readonly filterTimeframe: string | undefined;
  readonly filterAgentPoolNames: string[] | undefined;
  readonly searchUser: string | undefined;
  readonly searchCommit: string | undefined;
  readonly searchBasic: string | undefined;
}

function filtersOf(query: RunListFilterParams): RunFilters {
  const list = (values: readonly string[] | undefined) => (values?.length ? values : undefined);
  return {
    operations: list(query.filterOperation),
    statuses: list(query.filterStatus),
    statusGroup: query.filterStatusGroup || undefined,
    sources: list(query.filterSource),
    timeframe: query.filterTimeframe || undefined,
    agentPoolNames: list(query.filterAgentPoolNames),
    user: query.searchUser,
    commit: query.searchCommit,
    basic: query.searchBasic,
  };
}

function parseTimeFilter(parameter: string, value: string | undefined): string | undefined {
  if (!value) return undefined;
  const timestamp = parseTimestamp(value) ?? parseTimestamp(`${value}T00:00:00Z`);
  if (timestamp !== undefined) return timestamp;
  const detail = `The query parameter ${parameter} must be a timestamp such as 2030-01-31T12:00:00Z.`;
  throw new AppError("bad-request", [{ parameter, detail }]);
}

async function includedForAdmins(
  tx: Tx,
  context: Context,
  admin: SiteAdminProof,
  views: readonly RunView[],
  include: ReadonlySet<string>,
): Promise<IncludedResource[] | undefined> {
  if (include.size === 0) return undefined;
  const included = (await loadIncluded(tx, context, runs, views, new Set(["workspace"]))) ?? [];
  const withOwners = include.has("workspace.organization.owners");
  if (!withOwners && !include.has("workspace.organization")) return included;
  const ids = [...new Set(views.map((view) => view.organizationId))];
  return [...included, ...(await loadIncludedOrganizations(tx, context, admin, ids, withOwners))];
}
