/** What this process knows of commits: which organizations have changed since when. Snapshot ids grow with every commit that it notices. */

/** Stands for the site, whose changes concern the responses of all organizations. */
export const siteId = "*";

/** More are not worth their memory: then everything counts as changed. */
const organizationsMax = 50_000;

export class ObservedCommits {
  readonly #changedIn = new Map<string, number>();
  #everythingChangedIn = 0;

  /** Whether a response of the organization that was read in the snapshot `read` is still right in the snapshot `now`. */
  isUnchanged(organizationId: string | undefined, read: number, now: number): boolean {
    if (read === now) return true;
    if (organizationId === undefined || read < this.#everythingChangedIn) return false;
    return read >= this.#lastChange(organizationId) && read >= this.#lastChange(siteId);
  }

  recordChanges(organizationIds: readonly string[], snapshotId: number): void {
    for (const id of organizationIds) this.#changedIn.set(id, Math.max(snapshotId, this.#lastChange(id)));
    if (this.#changedIn.size > organizationsMax) this.recordChangeOfEverything(snapshotId);
  }

  recordChangeOfEverything(snapshotId: number): void {
    this.#everythingChangedIn = Math.max(snapshotId, this.#everythingChangedIn);
    for (const [id, changedIn] of this.#changedIn)
      if (changedIn <= this.#everythingChangedIn) this.#changedIn.delete(id);
  }

  #lastChange(organizationId: string): number {
    return this.#changedIn.get(organizationId) ?? 0;
  }
}
