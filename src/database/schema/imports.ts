/** What imports remember, so that they can be interrupted and repeated. */

export interface ImportLinkTable {
  organizationId: string;
  /** The other server and the organization there: `https://app.example/api/v2 acme`. */
  source: string;
  /** What it is: a JSON:API type, or the name of a step. */
  kind: string;
  sourceId: string;
  /** Also when it is gone here: then it is not brought again. */
  ourId: string;
  createdAt: string;
}
