/** Lists of version control events: load → authorize → list. */
import { nowMs } from "../../../kernel/time.ts";
import { loadOrganizationForConnections } from "../../connections/oauth-clients/reads.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { vcsEvents } from "./definition.ts";
import { type VcsEventFilter, pageOfEvents } from "./store.ts";

const tenDaysMs = 10 * 24 * 3600 * 1000;

interface VcsEventListParams {
  readonly filterOutcome?: string | undefined;
  readonly filterLevels?: readonly string[] | undefined;
  readonly filterFrom?: string | undefined;
  readonly filterTo?: string | undefined;
}

const filterOf = ({ filterOutcome, filterLevels, filterFrom, filterTo }: VcsEventListParams): VcsEventFilter => ({
  outcome: filterOutcome,
  levels: filterLevels,
  from: filterFrom,
  to: filterTo,
});

export const vcsEventResource = implement(vcsEvents, {
  async listVcsEvents({ context, params, query }) {
    const tx = context.database.reader;
    const { id } = await loadOrganizationForConnections(tx, context, params.organizationName);
    const filter = {
      ...filterOf(query),
      from: query.filterFrom ?? new Date(nowMs() - tenDaysMs).toISOString(),
      clientIds: query.filterOauthClientExternalIds,
    };
    // The default window moves with time, so the response can't be cached.
    const until = query.filterFrom === undefined ? { until: 0 } : {};
    const events = await pageOfEvents(tx, { organizationId: id }, filter, query.page);
    return { ...events, ...until, included: await loadIncluded(tx, context, vcsEvents, events.views, query.include) };
  },

  async listWorkspaceVcsEvents({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, params), "can-read-run");
    return pageOfEvents(tx, { workspaceId: workspace.id }, filterOf(query), query.page);
  },
});
