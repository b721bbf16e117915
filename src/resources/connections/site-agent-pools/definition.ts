/** An agent pool of the site, whose agents execute remote runs of every organization. */
import type { SiteAgentPoolTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { agentPoolName } from "../agent-pools/definition.ts";

export interface SiteAgentPoolView extends SiteAgentPoolTable {
  readonly organizationId: null;
  readonly agentCount: number;
}

const ofPool = "/admin/agent-pools/:site_agent_pool_id";
const needs = "a site admin";

export const siteAgentPools = defineResource<SiteAgentPoolView>()(({ required, readOnly, toOne }) => ({
  type: "agent-pools",
  schemaName: "site-agent-pools",
  doc: "A group of agents that execute the runs of workspaces in remote mode, of every organization.",
  id: (pool) => pool.id,
  version: (pool) => pool.version,
  // The number of live agents changes without a write.
  isUncacheable: true,
  attributes: {
    name: required(agentPoolName, "Unique among the pools of the site, ignoring case.", { folded: true }),
    "organization-scoped": readOnly(flag(), "Always true, because it serves every organization.", {
      from: () => true,
      audited: false,
    }),
    "agent-count": readOnly(wholeNumber(), "The number of agents that are idle or busy.", { audited: false }),
    "created-at": readOnly(timestamp(), "When it was created."),
  },
  relationships: {
    organization: toOne("organizations", "Always null: a site agent pool belongs to no organization.", {
      nullable: true,
      id: () => null,
    }),
  },
  links: (pool) => ({ self: `/api/v2/admin/agent-pools/${pool.id}` }),
  operations: {
    listSiteAgentPools: {
      method: "GET",
      path: "/admin/agent-pools",
      summary: "List the site's agent pools",
      needs,
      query: { paged: true, parameters: { q: searchParameter("the name") } },
      answer: "list",
    },
    createSiteAgentPool: {
      method: "POST",
      path: "/admin/agent-pools",
      summary: "Create a site agent pool",
      needs,
      body: "create",
      answer: "created",
      example: { data: { type: "agent-pools", attributes: { name: "everybody" } } },
    },
    showSiteAgentPool: {
      method: "GET",
      path: ofPool,
      summary: "Show a site agent pool",
      needs,
      answer: "document",
    },
    updateSiteAgentPool: {
      method: "PATCH",
      path: ofPool,
      summary: "Rename a site agent pool",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "agent-pools", attributes: { name: "everyone" } } },
    },
    deleteSiteAgentPool: {
      method: "DELETE",
      path: ofPool,
      summary: "Delete a site agent pool and its tokens; runs that its agents are executing are lost",
      needs,
      answer: "nothing",
    },
  },
}));
