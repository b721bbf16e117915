/** `version` covers every row that a cached response was made from; `read` looks up the caller's token in the same statement. */
export interface CacheValidator {
  readonly version: string;
  readonly read: (session: any) => Promise<{ readonly version: string | null; readonly session: unknown }>;
}
