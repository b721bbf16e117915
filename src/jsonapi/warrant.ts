/**
 * What an answer rests on: the versions of all that it was made from, as one text, and a narrow statement that tells the text as it is
 * now, and looks the caller's token up on the way.
 */
export interface Warrant {
  readonly says: string;
  readonly ask: (session: any) => Promise<{ readonly says: string | null; readonly session: unknown }>;
}
