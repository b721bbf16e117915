/** Contents of any size: states, configurations, plans. Flags are 0 or 1. */

export interface ContentTable {
  id: string;
  organizationId: string;
  /** Exactly one is set; none once the owner is deleted, and then a job removes the content. */
  stateVersionId: string | null;
  configurationVersionId: string | null;
  runId: string | null;
  /** Kept after the owner's deletion; null for contents from early versions. */
  ownerId: string | null;
  /** `state`, `json`, `archive`, `plan` … */
  kind: string;
  size: number;
  md5: string;
  chunkCount: number;
  complete: number;
  touchedAt: string;
}

export interface ContentChunkTable {
  organizationId: string;
  contentId: string;
  position: number;
  bytes: Uint8Array;
}
