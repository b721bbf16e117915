/** Who holds a workspace's lock, until when, and how that is told. */
import type { Actor } from "../../../access/actor.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { now } from "../../../kernel/time.ts";

type Holder = Pick<WorkspaceTable, "lockedByType" | "lockedById" | "lockedByName">;
type Lease = Pick<WorkspaceTable, "lockExpiresAt" | "lockLeaseSeconds">;

export type LockColumns = Holder & Lease & Pick<WorkspaceTable, "lockedReason" | "lockedAt">;

/** What a row holds that nobody has locked. */
export const unlocked: LockColumns = {
  lockedByType: null,
  lockedById: null,
  lockedByName: null,
  lockedReason: null,
  lockedAt: null,
  lockExpiresAt: null,
  lockLeaseSeconds: null,
};

/** How long a lock is held unless it is renewed: for a time, or until a moment. Without either it has no end. */
export interface LeaseInput {
  readonly seconds?: number | null | undefined;
  readonly expiresAt?: string | null | undefined;
}

interface SentLease {
  readonly "lease-seconds"?: number | null | undefined;
  readonly "expires-at"?: string | null | undefined;
}
export type LeaseBody = SentLease & { readonly data?: { readonly attributes?: SentLease | undefined } | undefined };

/** Both are sent at the top of a body, or in `data`. */
export const leaseIn = (body: LeaseBody | undefined): LeaseInput => ({
  seconds: body?.["lease-seconds"] ?? body?.data?.attributes?.["lease-seconds"],
  expiresAt: body?.["expires-at"] ?? body?.data?.attributes?.["expires-at"],
});

/** The lease of a lock that is given now; none for a lock that stays until somebody unlocks. */
export function leaseOf({ seconds, expiresAt }: LeaseInput, at: string): Lease {
  // A renewal without an end of its own takes as long again, in whole seconds.
  if (expiresAt)
    return { lockExpiresAt: expiresAt, lockLeaseSeconds: Math.ceil((Date.parse(expiresAt) - Date.parse(at)) / 1000) };
  if (!seconds) return { lockExpiresAt: null, lockLeaseSeconds: null };
  return { lockExpiresAt: new Date(Date.parse(at) + seconds * 1000).toISOString(), lockLeaseSeconds: seconds };
}

/** Whether a lock has ended by itself, though nobody has taken it off the row yet. */
export function hasLeaseEnded({ lockExpiresAt }: Pick<WorkspaceTable, "lockExpiresAt">): boolean {
  return lockExpiresAt !== null && lockExpiresAt <= now();
}

/** The end of its lease in milliseconds, for answers that rest on the lock; undefined without one. */
export function leaseEndMs({ lockExpiresAt }: Pick<WorkspaceTable, "lockExpiresAt">): number | undefined {
  return lockExpiresAt === null ? undefined : Date.parse(lockExpiresAt);
}

/** A lock is held by a person, whichever token is used, by a team, or by a run; an organization's token holds none. */
export function holderOf(actor: Actor): Holder | undefined {
  if (actor.kind === "user") return { lockedByType: "users", lockedById: actor.userId, lockedByName: actor.name };
  if (actor.kind === "team") return { lockedByType: "teams", lockedById: actor.teamId, lockedByName: actor.name };
  if (actor.kind === "run") return { lockedByType: "runs", lockedById: actor.runId, lockedByName: actor.name };
  return undefined;
}

export function holdsLock(actor: Actor, workspace: Holder): boolean {
  const holder = holderOf(actor);
  return (
    holder !== undefined && holder.lockedByType === workspace.lockedByType && holder.lockedById === workspace.lockedById
  );
}

/** In words that clients look for. */
export function nameOfHolder({ lockedByType, lockedByName, lockedById }: Holder): string {
  if (lockedByType === "runs") return `Run ${lockedById}`;
  return `${lockedByType === "teams" ? "Team" : "User"} ${lockedByName}`;
}
