/** Projects, and the access of teams to them. */

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
  /** Null where the organization's default is followed; the pool only with the mode `agent`. */
  defaultExecutionMode: string | null;
  defaultAgentPoolId: string | null;
  /** Raised by what others follow of it: its execution mode and agent pool (`shared/versions.ts`). */
  defaultsVersion: number;
}

export interface TeamProjectTable {
  id: string;
  organizationId: string;
  projectId: string;
  teamId: string;
  access: string;
  /** What the record gives, as bits (`access/permission-set.ts`): implied by the level, or chosen where it is `custom`. */
  permissions: number;
  /** The moment from which on it gives nothing; null for ever. And what it was given for. */
  expiresAt: string | null;
  reason: string | null;
  createdAt: string;
  version: number;
}
