/** Finds the spans that many texts cover in one pass (Aho–Corasick). */

/** Bytes of a longer text beyond this count as found. */
export const comparedMax = 1024;

export type ByteSpan = readonly [from: number, to: number];

/** The label of a node that is not a child of the previous one. */
const noByte = 256;

export class LiteralMatcher {
  readonly #compared: number;
  /** The byte from the previous node, which is the parent: most nodes have one child. Other children start a branch. The root is 0. */
  readonly #labels: Uint16Array;
  #count = 1;
  /** `parent * 256 + byte` → the first node of a branch, ordered by node. */
  readonly #branches = new Map<number, number>();
  readonly #branched = new Set<number>();
  readonly #starts: number[] = [0];
  readonly #startDepths: number[] = [0];
  /** The node of the longest proper suffix that is also a prefix of a text. */
  readonly #fallbacks: Uint32Array;
  /** The length of the longest text that ends at the node. */
  readonly #before: Uint32Array;
  /** How many bytes after the node belong to a text that is only partly compared. */
  readonly #after = new Map<number, number>();
  readonly #isFirst = new Uint8Array(256);

  constructor(texts: readonly Uint8Array[], compared = comparedMax) {
    this.#compared = compared;
    const nodesMax = texts.reduce((sum, { length }) => sum + Math.min(length, compared), 1);
    this.#labels = new Uint16Array(nodesMax + 1).fill(noByte);
    this.#fallbacks = new Uint32Array(nodesMax);
    this.#before = new Uint32Array(nodesMax);
    for (const text of texts) this.#add(text);
    this.#link();
  }

  get isEmpty(): boolean {
    return this.#count === 1;
  }

  spans(bytes: Uint8Array): ByteSpan[] {
    const found: ByteSpan[] = [];
    this.scan(bytes, 0, (from, to) => appendSpan(found, from, Math.min(bytes.length, to)));
    return found;
  }

  /**
   * Takes the state after the previous piece (0 at first), and returns the new one. Reports the longest text that ends at each
   * position; `from` is negative where it began in an earlier piece.
   */
  scan(bytes: Uint8Array, state: number, report: (from: number, to: number) => void): number {
    let node = state;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (node === 0 && this.#isFirst[byte] === 0) continue;
      node = this.#step(node, byte);
      const before = this.#before[node] ?? 0;
      if (before > 0) report(at + 1 - before, at + 1 + (this.#after.get(node) ?? 0));
    }
    return node;
  }

  /** How many of the last bytes may become part of a text with the next piece. */
  openBytes(state: number): number {
    let node = state;
    while (node !== 0 && this.#labels[node + 1] === noByte && !this.#branched.has(node))
      node = this.#fallbacks[node] ?? 0;
    return this.#depthOf(node);
  }

  #depthOf(node: number): number {
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0) <= node) low = middle;
      else high = middle;
    }
    return (this.#startDepths[low] ?? 0) + node - (this.#starts[low] ?? 0);
  }

  #add(text: Uint8Array): void {
    const length = Math.min(text.length, this.#compared);
    if (length === 0) return;
    this.#isFirst[text[0] ?? 0] = 1;
    let node = 0;
    for (let depth = 0; depth < length; depth += 1) {
      const byte = text[depth] ?? 0;
      node = this.#childOf(node, byte) ?? this.#grow(node, byte, depth + 1);
    }
    this.#before[node] = length;
    if (text.length > length) this.#after.set(node, Math.max(this.#after.get(node) ?? 0, text.length - length));
  }

  #grow(parent: number, byte: number, depth: number): number {
    const node = this.#count;
    this.#count += 1;
    if (parent === node - 1) this.#labels[node] = byte;
    else {
      this.#branches.set(parent * 256 + byte, node);
      this.#branched.add(parent);
      this.#starts.push(node);
      this.#startDepths.push(depth);
    }
    return node;
  }

  /** In order of depth across all branches, because a fallback is always shallower than its node. */
  #link(): void {
    const edges = [0, ...this.#branches.keys()];
    const depthOf = (branch: number): number => this.#startDepths[branch] ?? 0;
    const waiting = [...edges.keys()].sort((one, other) => depthOf(other) - depthOf(one));
    let open: number[] = [];
    for (let depth = 0; open.length > 0 || waiting.length > 0; depth += 1) {
      while (waiting.length > 0 && depthOf(waiting.at(-1) ?? 0) === depth) open.push(waiting.pop() ?? 0);
      open = open.filter((branch) => {
        const start = this.#starts[branch] ?? 0;
        const node = start + depth - depthOf(branch);
        const edge = edges[branch] ?? 0;
        if (depth > 1 && node === start) this.#linkNode(node, Math.floor(edge / 256), edge % 256);
        else if (depth > 1) this.#linkNode(node, node - 1, this.#labels[node] ?? 0);
        return node + 1 < (this.#starts[branch + 1] ?? this.#count);
      });
    }
  }

  #linkNode(node: number, parent: number, byte: number): void {
    const fallback = this.#step(this.#fallbacks[parent] ?? 0, byte);
    this.#fallbacks[node] = fallback;
    if (this.#before[node] === 0) this.#before[node] = this.#before[fallback] ?? 0;
  }

  #childOf(node: number, byte: number): number | undefined {
    return this.#labels[node + 1] === byte ? node + 1 : this.#branches.get(node * 256 + byte);
  }

  #step(from: number, byte: number): number {
    let node = from;
    for (;;) {
      const next = this.#childOf(node, byte);
      if (next !== undefined) return next;
      if (node === 0) return 0;
      node = this.#fallbacks[node] ?? 0;
    }
  }
}

/** Ends are reported in order, except for partly compared texts, so only the last spans can be merged. */
export function appendSpan(found: ByteSpan[], start: number, end: number): void {
  let [from, to] = [start, end];
  for (let last = found.at(-1); last !== undefined && last[1] >= from; last = found.at(-1)) {
    [from, to] = [Math.min(from, last[0]), Math.max(to, last[1])];
    found.pop();
  }
  found.push([from, to]);
}
