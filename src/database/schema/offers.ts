/** Access offers: changes of access that members of some teams can take. */

export interface AccessOfferTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  description: string | null;
  /** JSON. */
  changes: string;
  durationSecondsMax: number;
  approvals: string;
  enabled: number;
  /** Who last wrote it, as which its changes are executed: `user`, `team`, `organization` or `operator`. */
  writerKind: string;
  writerId: string;
  createdAt: string;
  version: number;
}

export interface AccessOfferTeamTable {
  organizationId: string;
  accessOfferId: string;
  /** `eligible` or `approver`. */
  kind: string;
  teamId: string;
}
