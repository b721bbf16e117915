/**
 * Tells whether a cached response is still fresh: `says` is the version of every row that the response was made from, and `ask`
 * reads the current version and looks the caller's token up in the same statement.
 */
export interface CacheValidator {
  readonly says: string;
  readonly ask: (session: any) => Promise<{ readonly says: string | null; readonly session: unknown }>;
}
