/** The queue of an agent pool, from which a scheduler of containers decides how many agents to start. */
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { wholeNumber } from "../../../jsonapi/schemas.ts";

export interface AgentPoolQueueView {
  readonly id: string;
  readonly waiting: number;
  readonly running: number;
}

const show = {
  method: "GET",
  path: "/agent-pools/:agent_pool_id/queue",
  summary: "Show how many jobs an agent pool has",
  needs:
    "a member of the organization, or a token of it or of one of its teams; or an agent of the pool, also of a pool of the site",
  callers: "also-agents",
  answer: "document",
} as const satisfies Operation;

export const agentPoolQueues = defineResource<AgentPoolQueueView>()(({ readOnly }) => ({
  type: "agent-pool-queues",
  doc: "The numbers of an agent pool's jobs. Its id is the pool's.",
  id: ({ id }) => id,
  // Depends on the agents' last pings.
  isUncacheable: true,
  attributes: {
    waiting: readOnly(
      wholeNumber(),
      "The number of jobs that are not claimed, and that an agent of the pool could claim now, with an engine that the pool's agents have.",
    ),
    running: readOnly(wholeNumber(), "The number of jobs that the pool's agents are executing."),
  },
  relationships: {},
  operations: {
    showAgentPoolQueue: show,
    showSiteAgentPoolQueue: {
      method: "GET",
      path: "/admin/agent-pools/:site_agent_pool_id/queue",
      summary: "Show how many jobs a site agent pool has",
      needs: "a site admin",
      answer: "document",
    },
  },
}));
