/** Tells whether a cached response is fresh: `version` covers every row that it was made from. */
export interface CacheValidator {
  readonly version: string;
  /** The current version, and the caller's token, which the same statement looks up. */
  readonly read: (known: any) => Promise<{ readonly version: string | null; readonly token: unknown }>;
}
