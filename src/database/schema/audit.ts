/** The audit trail. Rows are only ever added: triggers refuse to change or remove one. */

export interface AuditEventTable {
  id: string;
  /** Null for what belongs to no organization (a user, say). Not a foreign key: the trail outlives what it tells of. */
  organizationId: string | null;
  actorKind: string;
  actorId: string;
  actorName: string;
  tokenId: string | null;
  action: string;
  subjectType: string;
  subjectId: string;
  /** JSON; null for a creation. */
  before: string | null;
  /** JSON; null for a deletion. */
  after: string | null;
  requestId: string;
  createdAt: string;
}
