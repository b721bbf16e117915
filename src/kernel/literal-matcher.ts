/**
 * Finds many texts in one pass (Aho–Corasick): every byte is read once, however many texts are looked for and however alike they are.
 * It answers with what they cover together, not with which of them is where.
 */

/** Of a longer text only so many bytes are compared; the rest counts as found. Two texts that share these are not different by chance. */
export const comparedMax = 1024;

/** A stretch of bytes: from the first to the one after the last. */
export type ByteSpan = readonly [from: number, to: number];

export class LiteralMatcher {
  /** `node * 256 + byte` → node. The root is 0. */
  readonly #next = new Map<number, number>();
  readonly #parents: number[] = [0];
  readonly #bytes: number[] = [0];
  readonly #depths: number[] = [0];
  /** The node of the longest proper ending that also begins a text. */
  readonly #fallbacks: number[] = [0];
  /** How many bytes before this place belong to the longest text that ends here, and how many after it. */
  readonly #before: number[] = [0];
  readonly #after: number[] = [0];
  readonly #isFirst = new Uint8Array(256);

  constructor(texts: Iterable<Uint8Array>) {
    for (const text of texts) this.#add(text);
    this.#link();
  }

  get isEmpty(): boolean {
    return this.#parents.length === 1;
  }

  /** In order, each apart from the next. */
  spans(bytes: Uint8Array): ByteSpan[] {
    const found: [number, number][] = [];
    let node = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (node === 0 && this.#isFirst[byte] === 0) continue;
      node = this.#step(node, byte);
      const before = this.#before[node] ?? 0;
      if (before > 0) append(found, at + 1 - before, Math.min(bytes.length, at + 1 + (this.#after[node] ?? 0)));
    }
    return found;
  }

  #add(text: Uint8Array): void {
    const length = Math.min(text.length, comparedMax);
    if (length === 0) return;
    this.#isFirst[text[0] ?? 0] = 1;
    let node = 0;
    for (const byte of text.subarray(0, length)) node = this.#next.get(node * 256 + byte) ?? this.#grow(node, byte);
    this.#before[node] = length;
    this.#after[node] = Math.max(this.#after[node] ?? 0, text.length - length);
  }

  #grow(parent: number, byte: number): number {
    const node = this.#parents.length;
    this.#next.set(parent * 256 + byte, node);
    this.#parents.push(parent);
    this.#bytes.push(byte);
    this.#depths.push((this.#depths[parent] ?? 0) + 1);
    this.#fallbacks.push(0);
    this.#before.push(0);
    this.#after.push(0);
    return node;
  }

  /** Shallow nodes first: a fallback is always shallower than its node. */
  #link(): void {
    const levels: number[][] = [];
    for (const [node, depth] of this.#depths.entries()) (levels[depth] ??= []).push(node);
    for (const node of levels.slice(2).flat()) {
      const fallback = this.#step(this.#fallbacks[this.#parents[node] ?? 0] ?? 0, this.#bytes[node] ?? 0);
      this.#fallbacks[node] = fallback;
      if (this.#before[node] === 0) this.#before[node] = this.#before[fallback] ?? 0;
      this.#after[node] = Math.max(this.#after[node] ?? 0, this.#after[fallback] ?? 0);
    }
  }

  #step(from: number, byte: number): number {
    let node = from;
    for (;;) {
      const next = this.#next.get(node * 256 + byte);
      if (next !== undefined) return next;
      if (node === 0) return 0;
      node = this.#fallbacks[node] ?? 0;
    }
  }
}

/** The ends come in order, but for those that count as found: so what is already there may be swallowed, and only at its end. */
function append(found: [number, number][], start: number, end: number): void {
  let [from, to] = [start, end];
  for (let last = found.at(-1); last !== undefined && last[1] >= from; last = found.at(-1)) {
    [from, to] = [Math.min(from, last[0]), Math.max(to, last[1])];
    found.pop();
  }
  found.push([from, to]);
}
