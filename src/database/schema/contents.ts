/** Bytes of any size: states, configurations, plans. Flags are 0 or 1 on both engines. */

export interface ContentTable {
  id: string;
  organizationId: string;
  /** Exactly one of these is set; none once the owner is gone, and then a job removes the content. */
  stateVersionId: string | null;
  configurationVersionId: string | null;
  runId: string | null;
  /** The owner, also when it is gone; null of contents that were left over long ago. */
  ownerId: string | null;
  /** What it is to its owner: `state`, `json`, `archive`, `plan` … */
  kind: string;
  /** Of the content itself, before it was compressed. */
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
  /** Compressed, then sealed. */
  bytes: Uint8Array;
}
