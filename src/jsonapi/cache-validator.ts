/**
 * Tells whether a cached response is still fresh: `version` is the version of every row that the response was made from, and `read`
 * reads the current version and looks the caller's token up in the same statement.
 */
export interface CacheValidator {
  readonly version: string;
  readonly read: (session: any) => Promise<{ readonly version: string | null; readonly session: unknown }>;
}
