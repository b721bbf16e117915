/** Projects and team access to them. */

export interface ProjectTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  description: string | null;
  autoDestroyActivityDuration: string | null;
  isDefault: number;
  workspaceCount: number;
  teamCount: number;
  createdAt: string;
  version: number;
  /** Null for the organization's default; the pool only with the mode `agent`. */
  defaultExecutionMode: string | null;
  defaultAgentPoolId: string | null;
  defaultsVersion: number;
}

export interface TeamProjectTable {
  id: string;
  organizationId: string;
  projectId: string;
  teamId: string;
  access: string;
  /** Bits (`access/permission-set.ts`), stored also where the level implies them. */
  permissions: number;
  expiresAt: string | null;
  reason: string | null;
  /** The user or team that granted it; null for the organization's token, and for records from before the column. */
  grantedById: string | null;
  /** The access request that last gave permissions or a later end. */
  accessRequestId: string | null;
  createdAt: string;
  version: number;
}
