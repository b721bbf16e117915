/** What an import or export did, as people read it at its end: counts by kind, what is to be entered, and every gap with its reason. */

export type Outcome = "brought" | "here" | "left";

export interface Gap {
  readonly kind: string;
  /** Which one: a name with its place. */
  readonly thing: string;
  readonly reason: string;
}

export interface Count {
  readonly kind: string;
  readonly brought: number;
  /** Here already: brought before, or made here under the same name. */
  readonly here: number;
  readonly left: number;
}

export class Report {
  readonly gaps: Gap[] = [];
  /** Secrets, which no server gives away: of a dry run those that would come without, and all that are here without. */
  readonly toEnter: Gap[] = [];
  readonly notes: string[] = [];
  readonly #counts = new Map<string, Record<Outcome, number>>();

  count(kind: string, outcome: Outcome, by = 1): void {
    const counts = this.#counts.get(kind) ?? { brought: 0, here: 0, left: 0 };
    counts[outcome] += by;
    this.#counts.set(kind, counts);
  }

  /** Something is there and does not come, or not as it is. */
  gap(kind: string, thing: string, reason: string): void {
    this.gaps.push({ kind, thing, reason: reason.replace(/\.$/, "") });
  }

  /** The same where all of it stays behind. */
  left(kind: string, thing: string, reason: string): void {
    this.count(kind, "left");
    this.gap(kind, thing, reason);
  }

  enter(kind: string, thing: string, reason: string): void {
    this.toEnter.push({ kind, thing, reason });
  }

  get counts(): Count[] {
    return [...this.#counts].map(([kind, counts]) => ({ kind, ...counts }));
  }

  done(kind: string): number {
    const counts = this.#counts.get(kind);
    return counts === undefined ? 0 : counts.brought + counts.here + counts.left;
  }
}
