/**
 * Hides secrets in a stream of bytes. Every byte that belongs to a secret is gone, wherever the stream is cut into chunks and
 * however secrets overlap; what is left is the same for every way of cutting. Held back is only what may yet become a secret.
 */
import { appendSpan, type ByteSpan, LiteralMatcher } from "../kernel/literal-matcher.ts";
import { formsOf } from "../kernel/secret-forms.ts";

const mask = Buffer.from("***");
export class Masker {
  readonly #matcher: LiteralMatcher;
  #state = 0;
  readonly #held = new ByteQueue();
  /** Where in the stream the bytes begin that are held, and where they end. */
  #shownTo = 0;
  #readTo = 0;
  /** Where secrets are, in order, each apart from the next. Those before `#spansFrom` are shown as masks already. */
  #spans: ByteSpan[] = [];
  #spansFrom = 0;
  #lastWasHidden = false;

  constructor(secrets: Iterable<string>) {
    this.#matcher = new LiteralMatcher(formsOf(secrets), Number.POSITIVE_INFINITY);
  }

  /** What can be shown of what came so far, without what was shown before. */
  write(chunk: Uint8Array): Buffer {
    this.#held.append(chunk);
    this.#state = this.#matcher.scan(chunk, this.#state, (from, to) => {
      appendSpan(this.#spans, this.#readTo + from, this.#readTo + to);
      // It may touch the last one that is shown already, and is one with it then.
      this.#spansFrom = Math.min(this.#spansFrom, this.#spans.length - 1);
    });
    this.#readTo += chunk.length;
    return this.#show(this.#readTo - this.#matcher.openBytes(this.#state));
  }

  /** Nothing more comes: what was held back is no secret. */
  end(): Buffer {
    this.#state = 0;
    return this.#show(this.#readTo);
  }

  /** Up to a place before which no secret begins that is not known yet. */
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
    this.#forget();
    return Buffer.concat(shown);
  }

  /** Only once most of them are shown, so that each is moved about once. */
  #forget(): void {
    if (this.#spansFrom * 2 < this.#spans.length) return;
    this.#spans = this.#spans.slice(this.#spansFrom);
    this.#spansFrom = 0;
  }
}

/** Bytes in the order in which they came; each is copied a few times at most, however small the pieces are. */
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

  /** The first so many; to be used before more are appended. */
  take(count: number): Buffer {
    this.#from += count;
    return this.#bytes.subarray(this.#from - count, this.#from);
  }
}

/** A whole text at once. */
export function masked(secrets: Iterable<string>, text: string): string {
  const masker = new Masker(secrets);
  return Buffer.concat([masker.write(Buffer.from(text)), masker.end()]).toString("utf8");
}
