/** Operations on events from version control: load → authorize → list. */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { nowMs } from "../../../kernel/time.ts";
import { loadOrganizationForConnections } from "../../connections/oauth-clients/reads.ts";
import { workspaces } from "../../register/workspaces/definition.ts";
import { grantWorkspace, loadWorkspace, readableWorkspaces } from "../../register/workspaces/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { vcsEvents, type VcsEventView } from "./definition.ts";
import { type EventFilter, pageOfEvents } from "./store.ts";

const tenDaysMs = 10 * 24 * 3600 * 1000;

interface Asked {
  readonly filterOutcome?: string | undefined;
  readonly filterLevels?: readonly string[] | undefined;
  readonly filterFrom?: string | undefined;
  readonly filterTo?: string | undefined;
}

const filterOf = ({ filterOutcome, filterLevels, filterFrom, filterTo }: Asked): EventFilter => ({
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
    // Every moment takes away what happened ten days before.
    const until = query.filterFrom === undefined ? { until: 0 } : {};
    const events = await pageOfEvents(tx, { organizationId: id }, filter, query.page);
    if (!query.include.has("workspace")) return { ...events, ...until };
    return { ...events, ...until, included: await workspacesOf(tx, context, events.views) };
  },

  async listWorkspaceVcsEvents({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = grantWorkspace(await loadWorkspace(tx, context, params), "can-read-run");
    return pageOfEvents(tx, { workspaceId: workspace.id }, filterOf(query), query.page);
  },
});

/** The workspaces that events are about, as far as the caller may read them; one statement. */
async function workspacesOf(tx: Tx, context: Context, events: readonly VcsEventView[]): Promise<Included[]> {
  const ids = [...new Set(events.flatMap(({ workspaceId }) => workspaceId ?? []))];
  if (ids.length === 0) return [];
  return (await readableWorkspaces(tx, context, ids)).map((view) => ({ definition: workspaces, view }));
}
