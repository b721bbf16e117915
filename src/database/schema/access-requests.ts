/** Access requests. */

export interface AccessRequestTable {
  id: string;
  organizationId: string;
  /** Not a foreign key: requests outlive accounts, as the audit log does. */
  requesterId: string;
  offerId: string | null;
  /** `pending` also after `lapsesAt`, until a job has stored that it lapsed. */
  status: string;
  reason: string;
  /** JSON, as they were sent. */
  changes: string;
  durationSeconds: number | null;
  lapsesAt: string;
  decidedAt: string | null;
  decidedById: string | null;
  decisionComment: string | null;
  /** JSON: what approval gave and took, with ids; null before. */
  effects: string | null;
  /** JSON: the rules that matched when it was created or decided. */
  rules: string;
  createdAt: string;
  version: number;
}

/** What somebody needs to be able to make the changes. */
export interface AccessRequestRequirementTable {
  organizationId: string;
  requestId: string;
  number: number;
  kind: string;
  subjectId: string;
  /** Of a workspace, when the request was created; used once the workspace is deleted. */
  projectId: string | null;
  mask: number;
  /** The caller's access must last as long; null if any access in force counts. */
  endsAt: string | null;
}

/** Beneficiaries, who can't approve, and teams whose members can. */
export interface AccessRequestPartyTable {
  organizationId: string;
  requestId: string;
  role: string;
  subjectId: string;
}
