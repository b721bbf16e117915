/** State versions with their outputs and resources; jobs. Flags are 0 or 1. */

export interface StateVersionTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  /** The order of creation within a workspace, which timestamps don't give. */
  position: number;
  serial: number;
  /** Null while it was not sent and the content is not uploaded. */
  lineage: string | null;
  md5: string;
  status: string;
  /** Created under a lock that is still held: becomes current when the lock is released. */
  intermediate: number;
  size: number;
  /** Encrypted by the engine, so that the following columns can't be read from it. */
  encrypted: number;
  format: number | null;
  engineVersion: string | null;
  resourcesProcessed: number;
  resourceCount: number;
  /** JSON, bounded; `stateResources` has the whole list. */
  modules: string;
  providers: string;
  resources: string;
  /** Joined by commas; copied to the workspace with the version. */
  outputIds: string;
  /** A job deletes its rows in `stateResources`. */
  superseded: number;
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

export interface StateVersionOutputTable {
  id: string;
  organizationId: string;
  stateVersionId: string;
  name: string;
  sensitive: number;
  type: string;
  detailedType: string;
  value: Uint8Array;
}

export interface StateResourceTable {
  /** Stays the same while the address is in the workspace's state. */
  id: string;
  organizationId: string;
  stateVersionId: string;
  address: string;
  name: string;
  nameIndex: string | null;
  type: string;
  module: string;
  provider: string;
  fingerprint: string;
  modifiedByStateVersionId: string;
  createdAt: string;
  updatedAt: string;
}

/** Times are milliseconds of the database's clock. */
export interface JobTable {
  name: string;
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
