/** Masks secrets in a stream of bytes, however it is split into chunks. Holds back only bytes that can still become part of a secret. */
import { appendSpan, type ByteSpan, LiteralMatcher } from "../kernel/literal-matcher.ts";
import { secretSpellings } from "../kernel/secret-spellings.ts";

const mask = Buffer.from("***");
export class Masker {
  readonly #matcher: LiteralMatcher;
  #state = 0;
  readonly #held = new ByteQueue();
  #shownTo = 0;
  #readTo = 0;
  /** Disjoint and in order. Those before `#spansFrom` are already masked. */
  #spans: ByteSpan[] = [];
  #spansFrom = 0;
  #lastWasHidden = false;

  constructor(secrets: Iterable<string>) {
    this.#matcher = new LiteralMatcher(secretSpellings(secrets), Number.POSITIVE_INFINITY);
  }

  write(chunk: Uint8Array): Buffer {
    this.#held.append(chunk);
    this.#state = this.#matcher.scan(chunk, this.#state, (from, to) => {
      appendSpan(this.#spans, this.#readTo + from, this.#readTo + to);
      // It can extend the last span, which is already masked.
      this.#spansFrom = Math.min(this.#spansFrom, this.#spans.length - 1);
    });
    this.#readTo += chunk.length;
    return this.#show(this.#readTo - this.#matcher.openBytes(this.#state));
  }

  end(): Buffer {
    this.#state = 0;
    return this.#show(this.#readTo);
  }

  /** All secrets before the offset `end` are known. */
  #show(end: number): Buffer {
    const shown: Buffer[] = [];
    const take = (to: number): Buffer => {
      const bytes = this.#held.take(to - this.#shownTo);
      this.#shownTo = to;
      return bytes;
    };
    while (this.#shownTo < end) {
      const [from, to] = this.#spans[this.#spansFrom] ?? [end, end];
      if (from > this.#shownTo) {
        shown.push(take(Math.min(from, end)));
        this.#lastWasHidden = false;
      } else {
        if (!this.#lastWasHidden) shown.push(mask);
        this.#lastWasHidden = true;
        take(Math.min(to, end));
        if (to <= end) this.#spansFrom += 1;
      }
    }
    this.#dropMaskedSpans();
    return Buffer.concat(shown);
  }

  /** Only when masked spans are the majority, so that each span is copied about once. */
  #dropMaskedSpans(): void {
    if (this.#spansFrom * 2 < this.#spans.length) return;
    this.#spans = this.#spans.slice(this.#spansFrom);
    this.#spansFrom = 0;
  }
}

/** Copies each byte a few times at most, however small the chunks are. */
class ByteQueue {
  #bytes = Buffer.alloc(0);
  #from = 0;
  #to = 0;

  append(piece: Uint8Array): void {
    if (this.#from === this.#to) this.#from = this.#to = 0;
    if (this.#to + piece.length > this.#bytes.length) {
      const kept = this.#bytes.subarray(this.#from, this.#to);
      this.#bytes = Buffer.allocUnsafe(2 * (kept.length + piece.length));
      this.#bytes.set(kept);
      [this.#from, this.#to] = [0, kept.length];
    }
    this.#bytes.set(piece, this.#to);
    this.#to += piece.length;
  }

  /** The result is valid only until the next `append`. */
  take(count: number): Buffer {
    this.#from += count;
    return this.#bytes.subarray(this.#from - count, this.#from);
  }
}

export function masked(secrets: Iterable<string>, text: string): string {
  const masker = new Masker(secrets);
  return Buffer.concat([masker.write(Buffer.from(text)), masker.end()]).toString("utf8");
}
