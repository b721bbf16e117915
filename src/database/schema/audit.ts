/** The audit log. Triggers refuse changes and deletions. `before` and `after` are JSON. */

export interface AuditEventTable {
  id: string;
  /** Null outside of organizations. Not a foreign key, because the log outlives its subjects. */
  organizationId: string | null;
  actorKind: string;
  actorId: string;
  actorName: string;
  tokenId: string | null;
  action: string;
  subjectType: string;
  subjectId: string;
  before: string | null;
  after: string | null;
  requestId: string;
  /** The access request that the change belongs to. */
  accessRequestId: string | null;
  createdAt: string;
}
