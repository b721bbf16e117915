/** The agents resource: registration, pings, and lists of a pool's agents. */
import { z } from "zod";
import type { AgentTable } from "../../../database/schema/runs.ts";
import { fetchesEngines, unavailableOf } from "../phases/engines.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";

export interface AgentView extends AgentTable {
  readonly shownStatus: string;
}

const agentStatuses = ["idle", "busy", "exited", "errored"] as const;

const engineVersion = text({
  min: 1,
  max: 64,
  pattern: /^[!-~]+$/,
  sentence: "may only contain visible ASCII characters",
});
const engines = z.object({
  terraform: z.array(engineVersion).max(500).optional(),
  tofu: z.array(engineVersion).max(500).optional(),
});

/** Sent by agents that fetch engines, complete with every claim and ping. */
export const unavailableEngines = z
  .array(
    z.object({
      engine: z.enum(["terraform", "tofu"]),
      version: engineVersion,
      reason: text({ max: 500 }),
    }),
  )
  .max(100);

const registration = z.object({
  data: z.object({
    type: z.literal("agents"),
    attributes: z.object({
      name: text({ min: 1, max: 255 }),
      version: text({ max: 64 }).optional(),
      engines,
      sandbox: text({ max: 64 }).optional(),
      "fetches-engines": flag().optional(),
    }),
  }),
});

export const protocol = "an agent, by the token of its pool";
const ofAgent = "/agents/:agent_id";
const readers = "a member of the pool's organization; a site admin for a pool of the site";
const managers =
  "an owner, a team with 'manage-agent-pools', or the organization's token; a site admin for a pool of the site";

const list = {
  method: "GET",
  path: "/agent-pools/:agent_pool_id/agents",
  summary: "List the agents of a pool, newest first",
  needs: readers,
  query: {
    paged: true,
    parameters: {
      "filter[last-ping-since]": textParameter(
        "Only agents that have pinged since this time, such as 2030-01-31T12:00:00Z.",
      ),
    },
  },
  answer: "list",
} as const satisfies Operation;

export const agents = defineResource<AgentView>()(({ readOnly, toOne }) => ({
  type: "agents",
  doc: "A program that executes runs for an agent pool. An agent that stops pinging becomes `unknown`, and is removed after a day.",
  id: (agent) => agent.id,
  // `status` changes with time.
  isUncacheable: true,
  attributes: {
    name: readOnly(text(), "The agent's name, from its registration."),
    status: readOnly(
      text(),
      "The last reported status: `idle`, `busy`, `exited` or `errored`; `unknown` after 30 seconds without a ping.",
      { from: (agent) => agent.shownStatus, audited: false },
    ),
    "ip-address": readOnly(text(), "The IP address of the agent's registration."),
    "last-ping-at": readOnly(timestamp(), "When the agent last pinged.", { audited: false }),
    version: readOnly(text(), "The agent's version.", { from: (agent) => agent.agentVersion }),
    engines: readOnly(engines, "The agent's installed engine versions, by product.", {
      from: (agent) => JSON.parse(agent.engines) as unknown,
      audited: false,
    }),
    "fetches-engines": readOnly(flag(), "Whether the agent fetches engine versions that it lacks.", {
      from: (agent) => Number(fetchesEngines(agent)),
      audited: false,
    }),
    "unavailable-engines": readOnly(
      unavailableEngines,
      "Engine versions that the agent can't fetch at the moment, with the reasons.",
      { from: unavailableOf, audited: false },
    ),
    "created-at": readOnly(timestamp(), "When the agent registered."),
  },
  relationships: {
    "agent-pool": toOne("agent-pools", "The agent's pool.", {
      id: (agent) => agent.agentPoolId ?? agent.siteAgentPoolId,
    }),
  },
  links: (agent) => ({ self: `/api/v2/agents/${agent.id}` }),
  operations: {
    registerAgent: {
      method: "POST",
      path: "/agents",
      summary: "Register an agent with the pool that its token belongs to",
      needs: protocol,
      callers: "agents",
      body: { custom: registration },
      answer: "created",
      example: {
        data: {
          type: "agents",
          attributes: { name: "builder-1", version: "0.2.0", engines: { terraform: ["1.5.7"] } },
        },
      },
    },
    pingAgent: {
      method: "POST",
      path: `${ofAgent}/actions/ping`,
      summary: "Report an agent's status",
      needs: protocol,
      callers: "agents",
      body: {
        custom: z.object({
          status: z.enum(agentStatuses),
          engines: engines.optional(),
          "unavailable-engines": unavailableEngines.optional(),
        }),
      },
      answer: "nothing",
      example: { status: "idle" },
    },
    listAgents: list,
    listSiteAgents: { ...list, path: "/admin/agent-pools/:site_agent_pool_id/agents", needs: "a site admin" },
    showAgent: { method: "GET", path: ofAgent, summary: "Show an agent", needs: readers, answer: "document" },
    deleteAgent: {
      method: "DELETE",
      path: ofAgent,
      summary: "Delete an agent that is unknown, errored or exited; an agent that exits deletes itself",
      needs: `${managers}; or an agent of the pool`,
      callers: "also-agents",
      answer: "nothing",
    },
  },
}));
