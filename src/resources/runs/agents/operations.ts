/** Operations on agents: load → authorize → decide → write. */
import { authorize } from "../../../access/granted.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { agentPoolsNeed, loadAgentPool } from "../../connections/agent-pools/reads.ts";
import { recordPoolOffer } from "../../connections/agent-pools/writes.ts";
import { loadSiteAgentPool } from "../../connections/site-agent-pools/reads.ts";
import { recordSitePoolOffer } from "../../connections/site-agent-pools/writes.ts";
import { markOperationsAvailable } from "../../identity/organizations/writes.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { implement } from "../../shared/context.ts";
import { fetchingColumn } from "../phases/engines.ts";
import { agents, type AgentView, protocol } from "./definition.ts";
import { deleteAgentRow, findAgent, type AgentForActor, insertAgent, listAgentRows } from "./store.ts";
import { type AgentProof, engineColumns, recordPing, insertSiteOperations, requireAgent } from "./writes.ts";

export const agentResource = implement(agents, {
  async registerAgent({ context, body }) {
    const by = requireAgent(context);
    return context.database.write(async (tx) => {
      // Lock order: the organization is first.
      if (by.organizationId === null) await insertSiteOperations(tx, by);
      else await markOperationsAvailable(tx, by.organizationId);
      const { name, version, engines } = body.data.attributes;
      const isFetching = body.data.attributes["fetches-engines"] === true;
      const at = now();
      const row = {
        id: newId("agents"),
        organizationId: by.organizationId,
        agentPoolId: by.site ? null : by.agentPoolId,
        siteAgentPoolId: by.site ? by.agentPoolId : null,
        name,
        status: "idle",
        ipAddress: context.address ?? "",
        agentVersion: version ?? "",
        engines: JSON.stringify(engines),
        fetching: isFetching ? fetchingColumn([]) : "",
        lastPingAt: at,
        createdAt: at,
        version: 1,
      };
      await (by.site ? recordSitePoolOffer : recordPoolOffer)(tx, by, { engines: row.engines, isFetching });
      await insertAgent(tx, by, row);
      const view: AgentView = { ...row, lastPingMs: 0, shownStatus: row.status };
      await recordChange(tx, context, agents, { after: view });
      return { view };
    });
  },

  async pingAgent({ context, params, body: { status, engines, ...report } }) {
    const by = requireAgent(context);
    const columns = engineColumns(engines, report["unavailable-engines"]);
    await context.database.write((tx) => recordPing(tx, by, params.agentId, { status, ...columns }));
  },

  async listAgents({ context, params, query }) {
    const tx = context.database.reader;
    const pool = await loadAgentPool(tx, context, params.agentPoolId);
    return listAgentRows(tx, pool, { page: query.page, since: sinceOf(query.filterLastPingSince) });
  },

  async listSiteAgents({ context, params, query }) {
    const tx = context.database.reader;
    const pool = await loadSiteAgentPool(tx, context, params.siteAgentPoolId);
    return listAgentRows(tx, pool, { page: query.page, since: sinceOf(query.filterLastPingSince) });
  },

  async showAgent({ context, params }) {
    const agent = await findAgent(context.database.reader, context.actor, params.agentId);
    if (agent === undefined || !agent.standing.member) throw notFound("agent");
    return { view: agent };
  },

  async deleteAgent({ context, params }) {
    return context.database.write(async (tx) => {
      const found = await findAgent(tx, context.actor, params.agentId, true);
      if (found === undefined) throw notFound("agent");
      const isSelf = context.actor.kind === "agent";
      const agent = isSelf ? authorizeColleague(found, requireAgent(context)) : authorizeAgent(found);
      if (!isSelf && (agent.shownStatus === "idle" || agent.shownStatus === "busy"))
        throw new AppError(
          "precondition-failed",
          `The agent is ${agent.shownStatus}. Only an agent that is unknown, errored or exited can be deleted. Stop it first.`,
        );
      await deleteAgentRow(tx, agent);
      await recordChange(tx, context, agents, { before: agent });
    });
  },
});

const authorizeAgent = (agent: AgentForActor) =>
  authorize(agent, {
    thing: "agent",
    permission: "can-update-agent-pools",
    visible: agent.standing.member,
    allowed: organizationPermissions(agent.standing)["can-update-agent-pools"],
    needs: agentPoolsNeed,
  });

/** All agents of a pool have the same token. Throws `not-found` for an agent of another pool. */
const authorizeColleague = (agent: AgentForActor, { agentPoolId }: AgentProof) =>
  authorize(agent, {
    thing: "agent",
    permission: "can-serve",
    visible: (agent.agentPoolId ?? agent.siteAgentPoolId) === agentPoolId,
    allowed: true,
    needs: protocol,
  });

function sinceOf(sent: string | undefined): string | undefined {
  if (sent === undefined) return undefined;
  const ms = Date.parse(sent);
  if (Number.isNaN(ms))
    throw new AppError("bad-request", [
      {
        parameter: "filter[last-ping-since]",
        detail: "filter[last-ping-since] must be a time such as 2030-01-31T12:00:00Z",
      },
    ]);
  return new Date(ms).toISOString();
}
