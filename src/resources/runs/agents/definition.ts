/** An agent: a program that executes runs. It registers with the token of its pool, and is known by that alone. */
import { z } from "zod";
import type { AgentTable } from "../../../database/schema/runs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export interface AgentView extends AgentTable {
  /** As it is now: `unknown` where nothing was heard of it for a while. */
  readonly shownStatus: string;
}

const agentStatuses = ["idle", "busy", "exited", "errored"] as const;

const engineVersion = text({ min: 1, max: 64 });
/** By product, the versions that it has. */
const engines = z.object({
  terraform: z.array(engineVersion).max(500).optional(),
  tofu: z.array(engineVersion).max(500).optional(),
});

const registration = z.object({
  data: z.object({
    type: z.literal("agents"),
    attributes: z.object({
      name: text({ min: 1, max: 255 }),
      version: text({ max: 64 }).optional(),
      engines,
      sandbox: text({ max: 64 }).optional(),
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
      "filter[last-ping-since]": textParameter("Only agents that were heard of since then: 2030-01-31T12:00:00Z."),
    },
  },
  answer: "list",
} as const satisfies Operation;

export const agents = defineResource<AgentView>()(({ readOnly, toOne }) => ({
  type: "agents",
  doc: "A program that executes runs for an agent pool. One that vanishes becomes unknown, and is removed a day later.",
  id: (agent) => agent.id,
  // Whether it lives changes with time alone.
  hasExpiring: true,
  attributes: {
    name: readOnly(text(), "What it calls itself."),
    status: readOnly(
      text(),
      "`idle`, `busy`, `exited` or `errored`, as it said last; `unknown` when nothing was heard of it for 30 seconds.",
      { from: (agent) => agent.shownStatus, audited: false },
    ),
    "ip-address": readOnly(text(), "Where it calls from."),
    "last-ping-at": readOnly(timestamp(), "When it was last heard of.", { audited: false }),
    version: readOnly(text(), "Its own version.", { from: (agent) => agent.agentVersion }),
    engines: readOnly(engines, "The engines that it has, by product.", {
      from: (agent) => JSON.parse(agent.engines) as unknown,
      audited: false,
    }),
    "created-at": readOnly(timestamp(), "When it registered."),
  },
  relationships: {
    "agent-pool": toOne("agent-pools", "Whose jobs it executes.", {
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
      summary: "Say that an agent lives, and what it does",
      needs: protocol,
      callers: "agents",
      body: { custom: z.object({ status: z.enum(agentStatuses), engines: engines.optional() }) },
      answer: "nothing",
      example: { status: "idle" },
    },
    listAgents: list,
    listSiteAgents: { ...list, path: "/admin/agent-pools/:site_agent_pool_id/agents", needs: "a site admin" },
    showAgent: { method: "GET", path: ofAgent, summary: "Show an agent", needs: readers, answer: "document" },
    deleteAgent: {
      method: "DELETE",
      path: ofAgent,
      summary: "Forget an agent that is unknown, errored or exited",
      needs: managers,
      answer: "nothing",
    },
  },
}));
