/** Variables of workspaces and variable sets, and the scopes of sets. Flags are 0 or 1. */

export interface VarTable {
  id: string;
  organizationId: string;
  /** Exactly one of the two is set. */
  workspaceId: string | null;
  varsetId: string | null;
  key: string;
  value: Uint8Array;
  description: string;
  category: string;
  hcl: number;
  sensitive: number;
  createdAt: string;
  version: number;
}

export interface VarsetTable {
  id: string;
  organizationId: string;
  parentProjectId: string | null;
  name: string;
  nameKey: string;
  description: string;
  global: number;
  priority: number;
  /** Deleted links still count: the shown version rises with the difference to the existing ones, so that deletions need no update. */
  linkedCount: number;
  createdAt: string;
  updatedAt: string;
  version: number;
}

export interface VarsetWorkspaceTable {
  organizationId: string;
  varsetId: string;
  workspaceId: string;
}

export interface VarsetProjectTable {
  organizationId: string;
  varsetId: string;
  projectId: string;
}
