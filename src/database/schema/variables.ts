/** Variables, of workspaces and of variable sets, and what sets apply to. Flags are 0 or 1 on both engines. */

export interface VarTable {
  id: string;
  organizationId: string;
  /** Null where it belongs to a set; otherwise the set is null. */
  workspaceId: string | null;
  varsetId: string | null;
  key: string;
  /** Sealed, whether it is sensitive or not. */
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
  /** Null where the organization owns it. */
  parentProjectId: string | null;
  name: string;
  nameKey: string;
  description: string;
  global: number;
  priority: number;
  /**
   * How many workspaces and projects requests have linked and not unlinked again. Those that were deleted since are still
   * counted: by the difference to the links that there are, the version that is shown rises with each, and whoever deletes one
   * need not know of sets.
   */
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
