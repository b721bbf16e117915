/** The progress of imports, so that they can be interrupted and repeated. */

export interface ImportLinkTable {
  organizationId: string;
  /** `https://app.example/api/v2 acme`. */
  source: string;
  kind: string;
  sourceId: string;
  /** Kept after the resource is deleted here, so that it is not imported again. */
  ourId: string;
  createdAt: string;
}
