/** Case folding, length and search words, the same for every name in the register. */

export function fold(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

const searchWordsMax = 10;

/** Folded and distinct. Beyond the limit the last "word" is the rest of the text. */
export function searchWords(text: string, folded: (text: string) => string = fold): string[] {
  const words = folded(text)
    .split(/\s+/)
    .filter((word) => word !== "");
  const last = searchWordsMax - 1;
  const bounded = words.length > searchWordsMax ? [...words.slice(0, last), words.slice(last).join(" ")] : words;
  return [...new Set(bounded)];
}

/** Counts code points, so that an emoji is one character. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** Adds the period, which messages of faults don't have. */
export const asSentence = (message: string): string => message.replace(/[^.!?]$/, "$&.");

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function quoted(text: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return `'${shown}'`;
}
