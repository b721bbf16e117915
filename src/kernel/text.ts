/** What "ignoring case" and "length" mean, the same for every name in the register. */

/** The form of a name under which two names that differ only in case are one. */
export function fold(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** Lengths count code points: an emoji is one character, not two. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** `1 step`, `2 steps`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Shows what a caller sent inside a sentence, without letting it fill the page. */
export function quoted(text: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return `'${shown}'`;
}
