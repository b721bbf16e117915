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
  /** `s3://bucket/prefix`; null if the chunks are in the database. Set together with the next three. */
  place: string | null;
  /** Random, so that it says nothing about the content. */
  object: string | null;
  objectBytes: number | null;
  /** Of the key that encrypted the object, in hex. */
  keyId: string | null;
  /** Of a log, whose chunks are compressed one by one: their encrypted sizes, joined by commas. Otherwise null. */
  chunkSizes: string | null;
}

/** An object that no content uses. */
export interface UnattachedObjectTable {
  place: string;
  name: string;
  /** `discarded` and `deleting` objects are deleted at the next clean-up, `removed` ones after some days, `writing` ones after one day. */
  status: "writing" | "discarded" | "removed" | "deleting";
  /** For `writing`, renewed during the upload. */
  since: string;
}

export interface ContentChunkTable {
  organizationId: string;
  contentId: string;
  position: number;
  bytes: Uint8Array;
}
