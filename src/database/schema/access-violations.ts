/** Violations of access rules, and when they were computed. */

export interface AccessViolationTable {
  id: string;
  organizationId: string;
  accessRuleId: string;
  /** `grant`, `seat` or `token`. */
  kind: string;
  /** The id of the grant or token; of a seat `teamId:membershipId`. */
  subjectId: string;
  /** The subject: one of the four. A seat has both `teamId` and `membershipId`. */
  teamProjectId: string | null;
  teamWorkspaceId: string | null;
  tokenId: string | null;
  teamId: string | null;
  membershipId: string | null;
  since: string;
}

/** A scan is due while `completed` is less than `requested`. */
export interface AccessViolationScanTable {
  organizationId: string;
  requested: number;
  completed: number;
  computedMs: number | null;
}
