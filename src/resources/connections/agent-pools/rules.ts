/** Pure rules of agent pools. */
import type { AgentPoolScopeTable, AgentPoolTable } from "../../../database/schema/connections.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type AppError, conflict, type Fault } from "../../../kernel/errors.ts";
import { camel, human } from "../../../kernel/names.ts";
import { counted, quoted } from "../../../kernel/text.ts";
import { agentPools, type PoolScopeKind, poolScopeKinds, type PoolScopes, type UsingWorkspaces } from "./definition.ts";

/** Before the first agent. */
export const noOffer = { offeredEngines: null, offeredFetching: null, offeredMs: null };

export function newAgentPool(
  attributes: CreateAttributes<typeof agentPools>,
  identity: Pick<AgentPoolTable, "id" | "organizationId" | "createdAt">,
): AgentPoolTable {
  return { ...createdColumns(agentPools, attributes), ...identity, version: 1, ...noOffer };
}

export const noUsingWorkspaces: UsingWorkspaces = { ids: [], checksum: 0 };
export const noScopes: PoolScopes = { "allowed-workspaces": [], "allowed-projects": [], "excluded-workspaces": [] };

export type PoolScopesInput = {
  readonly [Name in "allowedWorkspaces" | "allowedProjects" | "excludedWorkspaces"]?: readonly string[];
};

export function changedScopes(before: PoolScopes, sent: PoolScopesInput): Partial<PoolScopes> {
  const changed: Partial<Record<PoolScopeKind, readonly string[]>> = {};
  for (const kind of poolScopeKinds) {
    const ids = sent[camel(kind)];
    if (ids === undefined) continue;
    const sorted = [...new Set(ids)].sort();
    if (sorted.join() !== before[kind].join()) changed[kind] = sorted;
  }
  return changed;
}

export function scopeRows(
  pool: Pick<AgentPoolTable, "id" | "organizationId">,
  scopes: Partial<PoolScopes>,
): AgentPoolScopeTable[] {
  return poolScopeKinds.flatMap((kind) =>
    (scopes[kind] ?? []).map((targetId) => ({
      organizationId: pool.organizationId,
      agentPoolId: pool.id,
      kind,
      targetId,
    })),
  );
}

export function unknownTargetFaults(
  sent: PoolScopesInput,
  known: { readonly workspaces: ReadonlySet<string>; readonly projects: ReadonlySet<string> },
): Fault[] {
  return poolScopeKinds.flatMap((kind) =>
    (sent[camel(kind)] ?? []).flatMap((id, position) =>
      known[kind === "allowed-projects" ? "projects" : "workspaces"].has(id)
        ? []
        : [
            {
              pointer: `/data/relationships/${kind}/data/${position}/id`,
              detail: `${human(kind)} names ${quoted(id)}, which is not in this organization`,
            },
          ],
    ),
  );
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}

export interface PoolUse {
  readonly isDefault: boolean;
  readonly projectCount: number;
  readonly workspaceCount: number;
}

export function deletionObstacle(use: PoolUse): AppError | undefined {
  if (use.isDefault)
    return conflict("The agent pool is the organization's default. Choose another default, then delete the pool.");
  if (use.projectCount > 0) {
    const projects = `of ${counted(use.projectCount, "project")}`;
    return conflict(
      `The agent pool is the default ${projects}. Choose another default for them, then delete the pool.`,
    );
  }
  if (use.workspaceCount === 0) return undefined;
  const workspaces = counted(use.workspaceCount, "workspace uses", "workspaces use");
  return conflict(
    `${workspaces} this agent pool. Choose another pool or execution mode for them, then delete the pool.`,
  );
}
