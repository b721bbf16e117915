/** Operations on runs: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { parseTimestamp } from "../../../kernel/time.ts";
import { organizationsBeside } from "../../identity/admin-organizations/reads.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { grantWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { type Administration, requireSiteAdmin } from "../../shared/administration.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { act, forceCancelAsAdmin, forceExecute } from "./actions.ts";
import { runs } from "./definition.ts";
import { pageOfOrganizationRuns, pageOfQueue, pageOfSiteRuns, pageOfWorkspaceRuns } from "./list.ts";
import { loadRun } from "./reads.ts";
import type { RunFilters } from "./search.ts";
import type { RunView } from "./view.ts";
import { createRun } from "./writes.ts";

export const runResource = implement(runs, {
  async createRun({ context, body: { attributes, relationships } }) {
    return context.database.write(async (tx) => {
      const workspaceId = relationships.workspace;
      if (workspaceId === null) throw notFound("workspace");
      const found = await loadWorkspace(tx, context, { workspaceId }, true);
      const workspace = grantWorkspace(found, "can-queue-run", "hide");
      // A plan alone destroys nothing.
      const destroys = attributes.isDestroy === true && attributes.planOnly !== true;
      const by = destroys ? grantWorkspace(workspace, "can-queue-destroy", "hide") : workspace;
      const asked = {
        ...attributes,
        configurationVersionId: relationships.configurationVersion,
        source: sourceOf(context),
        triggerReason: "manual",
      } as const;
      const { id } = await createRun(tx, context, workspace, asked, by);
      return { view: await loadRun(tx, context, id) };
    });
  },

  async listWorkspaceRuns({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = grantWorkspace(await loadWorkspace(tx, context, params), "can-read-run");
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
    // A run's token is for that run, not for those beside it.
    if (actor.kind === "run" && actor.runId !== params.runId) throw notFound("run");
    const view = await loadRun(tx, context, params.runId);
    return { view, included: await loadIncluded(tx, context, runs, [view], query.include) };
  },

  applyRun: ({ context, params, body }) => act(context, params.runId, "apply", "can-apply", body),
  discardRun: ({ context, params, body }) => act(context, params.runId, "discard", "can-discard", body),
  cancelRun: ({ context, params, body }) => act(context, params.runId, "cancel", "can-cancel", body),
  forceCancelRun: ({ context, params, body }) => act(context, params.runId, "force-cancel", "can-force-cancel", body),
  forceExecuteRun: ({ context, params, body }) => forceExecute(context, params.runId, body),

  async listAdminRuns({ context, query }) {
    const admin = requireSiteAdmin(context.actor);
    if (context.options.edition === "hosted") throw notFound("path");
    const tx = context.database.reader;
    const { views, totalCount } = await pageOfSiteRuns(tx, context, admin, {
      page: query.page,
      statuses: query.filterStatus,
      from: momentOf("filter[from]", query.filterFrom),
      to: momentOf("filter[to]", query.filterTo),
      part: query.q,
    });
    return { views, totalCount, included: await includedForAdmins(tx, context, admin, views, query.include) };
  },
  forceCancelAdminRun: ({ context, params, body }) => forceCancelAsAdmin(context, params.runId, body),
});

function sourceOf({ integration, source }: Context): string {
  if (integration === "cloud") return "terraform+cloud";
  return integration === "remote" ? "terraform" : source === "tfe-ui" ? "tfe-ui" : "tfe-api";
}

interface Query {
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

/** A filter that is sent blank is none. */
function filtersOf(query: Query): RunFilters {
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

/** Raises `bad-request` for what is no moment. */
function momentOf(parameter: string, value: string | undefined): string | undefined {
  if (!value) return undefined;
  const moment = parseTimestamp(value) ?? parseTimestamp(`${value}T00:00:00Z`);
  if (moment !== undefined) return moment;
  const detail = `The query parameter ${parameter} must be a timestamp such as 2030-01-31T12:00:00Z.`;
  throw new AppError("bad-request", [{ parameter, detail }]);
}

/** For site admins, who see the organizations too. */
async function includedForAdmins(
  tx: Tx,
  context: Context,
  admin: Administration,
  views: readonly RunView[],
  wanted: ReadonlySet<string>,
): Promise<Included[] | undefined> {
  if (wanted.size === 0) return undefined;
  const included = (await loadIncluded(tx, context, runs, views, new Set(["workspace"]))) ?? [];
  const withOwners = wanted.has("workspace.organization.owners");
  if (!withOwners && !wanted.has("workspace.organization")) return included;
  const ids = [...new Set(views.map((view) => view.organizationId))];
  return [...included, ...(await organizationsBeside(tx, context, admin, ids, withOwners))];
}
