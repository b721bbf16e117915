/** State versions with their contents, outputs and resources; variables; jobs. Flags are 0 or 1 on both engines. */

export interface StateVersionTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  /** Counts up within a workspace: the order in which versions were made, which times alone would not tell. */
  position: number;
  serial: number;
  /** Null while it is not known: it was not sent and the content is not there yet. */
  lineage: string | null;
  md5: string;
  status: string;
  /** Made under a lock that is still held: it does not become the current one before that is released. */
  intermediate: number;
  size: number;
  /** The version of the state's format. */
  format: number | null;
  engineVersion: string | null;
  resourcesProcessed: number;
  resourceCount: number;
  /** JSON, bounded; the whole list is in `stateResources`. */
  modules: string;
  providers: string;
  resources: string;
  uploadExpiresAt: string | null;
  hasJson: number;
  runId: string | null;
  createdByKind: string;
  createdById: string;
  createdByName: string;
  createdByTokenId: string | null;
  createdAt: string;
  version: number;
}

export interface StateContentTable {
  id: string;
  organizationId: string;
  /** Null once the version is gone: then a job removes it. */
  stateVersionId: string | null;
  /** `state`, `json` or `outputs`. */
  kind: string;
  /** Of the content itself, before it was compressed. */
  size: number;
  md5: string;
  chunkCount: number;
  complete: number;
  touchedAt: string;
}

export interface StateChunkTable {
  organizationId: string;
  contentId: string;
  position: number;
  /** Compressed, then sealed. */
  bytes: Uint8Array;
}

export interface StateVersionOutputTable {
  id: string;
  organizationId: string;
  stateVersionId: string;
  name: string;
  sensitive: number;
  type: string;
  /** JSON. */
  detailedType: string;
  /** JSON, sealed. */
  value: Uint8Array;
}

export interface StateResourceTable {
  /** The same for as long as the address is in the workspace's state. */
  id: string;
  organizationId: string;
  stateVersionId: string;
  address: string;
  name: string;
  nameIndex: string | null;
  type: string;
  module: string;
  provider: string;
  /** Of the instance as the state holds it: tells whether a version changed it. */
  fingerprint: string;
  modifiedByStateVersionId: string;
  createdAt: string;
  updatedAt: string;
}

export interface VarTable {
  id: string;
  organizationId: string;
  workspaceId: string;
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

/** One row for each job. Times are milliseconds of the database's clock. */
export interface JobTable {
  name: string;
  /** Who runs it now; null when nobody does. */
  holder: string | null;
  leaseUntilMs: number;
  dueMs: number;
  startedMs: number | null;
  finishedMs: number | null;
  succeededMs: number | null;
  lastError: string | null;
  runsTotal: number;
  failuresTotal: number;
  handledTotal: number;
}
