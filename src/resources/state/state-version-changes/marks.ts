/** The paths that an engine marks as sensitive in a resource. */

export type SensitiveMark = readonly string[];
export const rootMark: SensitiveMark = [];

/** A mark that can't be parsed hides the whole resource. */
export function markOf(mark: unknown): SensitiveMark {
  if (!Array.isArray(mark)) return rootMark;
  const steps = mark.map(stepOf);
  return steps.every((step) => step !== undefined) ? steps : rootMark;
}

function stepOf(step: unknown): string | undefined {
  const { type, value } = (step ?? {}) as { type?: unknown; value?: unknown };
  const key = type === "index" ? (value as { value?: unknown } | null | undefined)?.value : value;
  const isKnown = (type === "get_attr" || type === "index") && (typeof key === "string" || typeof key === "number");
  return isKnown ? String(key) : undefined;
}

interface MarkNode {
  isEnd: boolean;
  readonly below: Map<string, MarkNode>;
}
const newMarkNode = (): MarkNode => ({ isEnd: false, below: new Map() });

/** A lookup takes as long as the path, for any number of marks. */
export class SensitiveMarks {
  readonly #root = newMarkNode();

  constructor(marks: readonly SensitiveMark[]) {
    for (const mark of marks) {
      let node = this.#root;
      for (const key of mark) {
        const next = node.below.get(key) ?? newMarkNode();
        node.below.set(key, next);
        node = next;
      }
      node.isEnd = true;
    }
  }

  /** Also true for a mark below the path: a value that was replaced as a whole includes what is marked below. */
  isHidden(path: readonly string[]): boolean {
    let node = this.#root;
    for (const key of path) {
      if (node.isEnd) return true;
      const next = node.below.get(key);
      if (next === undefined) return false;
      node = next;
    }
    return node.isEnd || node.below.size > 0;
  }
}
