/** The holder and the lease of a workspace's lock. */
import type { Actor } from "../../../access/actor.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { now } from "../../../kernel/time.ts";

type LockHolder = Pick<WorkspaceTable, "lockedByType" | "lockedById" | "lockedByName">;
type LockLease = Pick<WorkspaceTable, "lockExpiresAt" | "lockLeaseSeconds">;

export type LockColumns = LockHolder & LockLease & Pick<WorkspaceTable, "lockedReason" | "lockedAt">;

export const unlocked: LockColumns = {
  lockedByType: null,
  lockedById: null,
  lockedByName: null,
  lockedReason: null,
  lockedAt: null,
  lockExpiresAt: null,
  lockLeaseSeconds: null,
};

export interface LeaseInput {
  readonly seconds?: number | null | undefined;
  readonly expiresAt?: string | null | undefined;
}

interface LeaseAttributes {
  readonly "lease-seconds"?: number | null | undefined;
  readonly "expires-at"?: string | null | undefined;
}
export type LeaseBody = LeaseAttributes & {
  readonly data?: { readonly attributes?: LeaseAttributes | undefined } | undefined;
};

/** Clients send both at the top of the body or in `data`. */
export const leaseFromBody = (body: LeaseBody | undefined): LeaseInput => ({
  seconds: body?.["lease-seconds"] ?? body?.data?.attributes?.["lease-seconds"],
  expiresAt: body?.["expires-at"] ?? body?.data?.attributes?.["expires-at"],
});

export function leaseOf({ seconds, expiresAt }: LeaseInput, at: string): LockLease {
  // Whole seconds, because renewals repeat the duration.
  if (expiresAt)
    return { lockExpiresAt: expiresAt, lockLeaseSeconds: Math.ceil((Date.parse(expiresAt) - Date.parse(at)) / 1000) };
  if (!seconds) return { lockExpiresAt: null, lockLeaseSeconds: null };
  return { lockExpiresAt: new Date(Date.parse(at) + seconds * 1000).toISOString(), lockLeaseSeconds: seconds };
}

/** An expired lease can still be on the row. */
export function hasLeaseExpired({ lockExpiresAt }: Pick<WorkspaceTable, "lockExpiresAt">): boolean {
  return lockExpiresAt !== null && lockExpiresAt <= now();
}

/** A response that depends on the lock is valid until then. */
export function leaseExpiryMs({ lockExpiresAt }: Pick<WorkspaceTable, "lockExpiresAt">): number | undefined {
  return lockExpiresAt === null ? undefined : Date.parse(lockExpiresAt);
}

/** An organization token can't hold a lock. */
export function lockHolderOf(actor: Actor): LockHolder | undefined {
  if (actor.kind === "user") return { lockedByType: "users", lockedById: actor.userId, lockedByName: actor.name };
  if (actor.kind === "team") return { lockedByType: "teams", lockedById: actor.teamId, lockedByName: actor.name };
  if (actor.kind === "run") return { lockedByType: "runs", lockedById: actor.runId, lockedByName: actor.name };
  return undefined;
}

export function holdsLock(actor: Actor, workspace: LockHolder): boolean {
  const holder = lockHolderOf(actor);
  return (
    holder !== undefined && holder.lockedByType === workspace.lockedByType && holder.lockedById === workspace.lockedById
  );
}

/** Clients search error messages for this text. */
export function lockHolderName({ lockedByType, lockedByName, lockedById }: LockHolder): string {
  if (lockedByType === "runs") return `Run ${lockedById}`;
  return `${lockedByType === "teams" ? "Team" : "User"} ${lockedByName}`;
}
