/** An agent pool of the site: it belongs to no organization, and its agents run workspaces in remote mode, whosever they are. */
import type { SiteAgentPoolTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { agentPoolName } from "../agent-pools/definition.ts";

export interface SiteAgentPoolView extends SiteAgentPoolTable {
  /** For the trail: it belongs to none. */
  readonly organizationId: null;
  readonly agentCount: number;
}

const ofPool = "/admin/agent-pools/:site_agent_pool_id";
const needs = "a site admin";

export const siteAgentPools = defineResource<SiteAgentPoolView>()(({ required, readOnly, toOne }) => ({
  type: "agent-pools",
  schemaName: "site-agent-pools",
  doc: "A group of agents that run what workspaces in remote mode ask for, of every organization.",
  id: (pool) => pool.id,
  version: (pool) => pool.version,
  // How many agents live changes with time alone.
  hasExpiring: true,
  attributes: {
    name: required(agentPoolName, "Unique among the pools of the site, ignoring case.", { folded: true }),
    "organization-scoped": readOnly(flag(), "Always true: it serves all.", { from: () => true, audited: false }),
    "agent-count": readOnly(wholeNumber(), "How many of its agents are idle or busy.", { audited: false }),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    organization: toOne("organizations", "Always null: it belongs to none.", { nullable: true, id: () => null }),
  },
  links: (pool) => ({ self: `/api/v2/admin/agent-pools/${pool.id}` }),
  operations: {
    listSiteAgentPools: {
      method: "GET",
      path: "/admin/agent-pools",
      summary: "List the agent pools of the site",
      needs,
      query: { paged: true, parameters: { q: searchParameter("the name") } },
      answer: "list",
    },
    createSiteAgentPool: {
      method: "POST",
      path: "/admin/agent-pools",
      summary: "Create an agent pool of the site",
      needs,
      body: "create",
      answer: "created",
      example: { data: { type: "agent-pools", attributes: { name: "everybody" } } },
    },
    showSiteAgentPool: {
      method: "GET",
      path: ofPool,
      summary: "Show an agent pool of the site",
      needs,
      answer: "document",
    },
    updateSiteAgentPool: {
      method: "PATCH",
      path: ofPool,
      summary: "Rename an agent pool of the site",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "agent-pools", attributes: { name: "everyone" } } },
    },
    deleteSiteAgentPool: {
      method: "DELETE",
      path: ofPool,
      summary: "Delete an agent pool of the site, with its tokens; what its agents execute is lost",
      needs,
      answer: "nothing",
    },
  },
}));
