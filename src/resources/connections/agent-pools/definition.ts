/** An agent pool: the agents that execute runs in agent mode, and the workspaces that it serves. */
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { AgentPoolTable } from "../../../database/schema/connections.ts";
import { defineResource, definitionBuilders } from "../../../jsonapi/define.ts";
import { searchParameter, textParameter } from "../../../jsonapi/query.ts";
import { flag, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

/** The database stores these names. */
export const poolScopeKinds = ["allowed-workspaces", "allowed-projects", "excluded-workspaces"] as const;
export type PoolScopeKind = (typeof poolScopeKinds)[number];
/** Ids by list, sorted and without duplicates. */
export type PoolScopes = Readonly<Record<PoolScopeKind, readonly string[]>>;

export interface AgentPoolView extends AgentPoolTable, OrganizationFacts {
  readonly standing: OrganizationStanding;
  readonly scopes: PoolScopes;
  readonly usingWorkspaces: UsingWorkspaces;
  readonly agentCount: number;
}

/** The workspaces that choose the pool themselves. */
export interface UsingWorkspaces {
  /** Only those that the caller can read. */
  readonly ids: readonly string[];
  /** Of all of them, for the ETag. */
  readonly checksum: number;
}

export const agentPoolName = text({
  min: 1,
  max: 90,
  pattern: /^[A-Za-z0-9_-]+$/,
  sentence: "may only contain letters, numbers, dashes and underscores",
});

const include = ["workspaces"] as const;
const includeOfOne = ["workspaces", "allowed_workspaces", "allowed_projects", "excluded_workspaces"] as const;
const writers = "an owner, a team with 'manage-agent-pools', or the organization's token";
const readers = "a member of the organization, or a token of it or of one of its teams";
const ofPool = "/agent-pools/:agent_pool_id";

const scope = (type: "workspaces" | "projects", kind: PoolScopeKind, doc: string) =>
  definitionBuilders<AgentPoolView>().toMany(type, doc, {
    create: "optional",
    update: "optional",
    ids: (pool) => pool.scopes[kind],
  });

export const agentPools = defineResource<AgentPoolView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "agent-pools",
  doc: "A group of agents that execute the runs of workspaces in agent mode.",
  id: (pool) => pool.id,
  version: (pool) => [pool.version, pool.organizationFactsVersion, pool.usingWorkspaces.checksum],
  // The number of live agents changes without a write.
  isUncacheable: true,
  attributes: {
    name: required(agentPoolName, "Unique in the organization, ignoring case.", { folded: true }),
    "organization-scoped": optional(
      flag(),
      "Whether the pool serves every workspace of the organization except the excluded ones. Otherwise it serves only the allowed ones.",
      { default: true },
    ),
    "agent-count": readOnly(wholeNumber(), "The number of agents that are idle or busy.", { audited: false }),
    "created-at": readOnly(timestamp(), "When it was created."),
  },
  relationships: {
    organization: toOne("organizations", "The organization that owns it.", {
      id: (pool) => pool.organizationName,
      related: (pool) => `/api/v2/organizations/${pool.organizationName}`,
    }),
    workspaces: toMany(
      "workspaces",
      "The workspaces that choose this pool themselves, and that the caller can read. `include` adds up to 100 documents.",
      { ids: (pool) => pool.usingWorkspaces.ids },
    ),
    "allowed-workspaces": scope("workspaces", "allowed-workspaces", "Workspaces that the pool serves."),
    "allowed-projects": scope("projects", "allowed-projects", "Projects whose workspaces the pool serves."),
    "excluded-workspaces": scope("workspaces", "excluded-workspaces", "Workspaces that the pool does not serve."),
  },
  links: (pool) => ({ self: `/api/v2/agent-pools/${pool.id}` }),
  operations: {
    listAgentPools: {
      method: "GET",
      path: "/organizations/:organization_name/agent-pools",
      summary: "List agent pools",
      needs: readers,
      query: {
        paged: true,
        sort: ["name", "created-at"],
        include,
        parameters: {
          q: searchParameter("the name"),
          "filter[allowed_workspaces][name]": textParameter(
            "Only pools that serve the workspace of this name, if the caller can read it.",
          ),
          "filter[allowed_projects][name]": textParameter(
            "Only pools that serve the project of this name, ignoring case, if the caller can read it.",
          ),
        },
      },
      answer: "list",
    },
    createAgentPool: {
      method: "POST",
      path: "/organizations/:organization_name/agent-pools",
      summary: "Create an agent pool",
      needs: writers,
      body: "create",
      answer: "created",
      example: { data: { type: "agent-pools", attributes: { name: "datacenter" } } },
    },
    showAgentPool: {
      method: "GET",
      path: ofPool,
      summary: "Show an agent pool",
      needs: readers,
      query: { include: includeOfOne },
      answer: "document",
    },
    updateAgentPool: {
      method: "PATCH",
      path: ofPool,
      summary: "Update an agent pool; a list in the request replaces the stored one",
      needs: writers,
      body: "update",
      answer: "document",
      example: {
        data: {
          type: "agent-pools",
          attributes: { "organization-scoped": false },
          relationships: { "allowed-workspaces": { data: [] } },
        },
      },
    },
    deleteAgentPool: {
      method: "DELETE",
      path: ofPool,
      summary: "Delete an agent pool that no workspace uses and that is not the organization's default",
      needs: writers,
      answer: "nothing",
    },
  },
}));
