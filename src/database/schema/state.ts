/** State versions with their outputs and resources; jobs. Flags are 0 or 1 on both engines. */

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
  /** By the engine, before it was sent: what follows can't be read out of it. */
  encrypted: number;
  /** The version of the state's format. */
  format: number | null;
  engineVersion: string | null;
  resourcesProcessed: number;
  resourceCount: number;
  /** JSON, bounded; the whole list is in `stateResources`. */
  modules: string;
  providers: string;
  resources: string;
  /** Joined by commas; a workspace takes them over with the version. */
  outputIds: string;
  /** Another has become the current one since: its rows in `stateResources` serve nobody and are removed by a job. */
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
