/** Pure rules: what an engine marks as sensitive in a resource, by path. */

export type Mark = readonly string[];
/** Everything below the root. */
export const everything: Mark = [];

/** A mark that can't be read hides everything: better too much than too little. */
export function markOf(mark: unknown): Mark {
  if (!Array.isArray(mark)) return everything;
  const steps = mark.map(stepOf);
  return steps.every((step) => step !== undefined) ? steps : everything;
}

function stepOf(step: unknown): string | undefined {
  const { type, value } = (step ?? {}) as { type?: unknown; value?: unknown };
  const key = type === "index" ? (value as { value?: unknown } | null | undefined)?.value : value;
  const isKnown = (type === "get_attr" || type === "index") && (typeof key === "string" || typeof key === "number");
  return isKnown ? String(key) : undefined;
}

interface Step {
  isEnd: boolean;
  readonly below: Map<string, Step>;
}
const newStep = (): Step => ({ isEnd: false, below: new Map() });

/** Kept as a tree: looking for a path takes as long as the path, however many marks a state has. */
export class Marks {
  readonly #root = newStep();

  constructor(marks: readonly Mark[]) {
    for (const mark of marks) {
      let at = this.#root;
      for (const key of mark) {
        const next = at.below.get(key) ?? newStep();
        at.below.set(key, next);
        at = next;
      }
      at.isEnd = true;
    }
  }

  /** A mark above it, at it, or below it: what is replaced as a whole holds what is marked. */
  hide(path: readonly string[]): boolean {
    let at = this.#root;
    for (const key of path) {
      if (at.isEnd) return true;
      const next = at.below.get(key);
      if (next === undefined) return false;
      at = next;
    }
    return at.isEnd || at.below.size > 0;
  }
}
