/** What "ignoring case" and "length" mean, the same for every name in the register. */

/** The form of a name under which two names that differ only in case are one. */
export function fold(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** More words than these cost the database a comparison each; the last one takes the rest of the text. */
const searchWordsMax = 10;

/**
 * The words of a text search, folded, each once. A phrase in a name is always found, because the name has all its words; so is one of more
 * words than the limit, whose last "word" is the rest with single blanks.
 */
export function searchWords(text: string, folded: (text: string) => string = fold): string[] {
  const words = folded(text)
    .split(/\s+/)
    .filter((word) => word !== "");
  const last = searchWordsMax - 1;
  const bounded = words.length > searchWordsMax ? [...words.slice(0, last), words.slice(last).join(" ")] : words;
  return [...new Set(bounded)];
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
