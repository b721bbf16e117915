/** What an object store can do, and the errors that it raises. Must not know what objects contain. */

export type ObjectOperation = "put" | "get" | "delete" | "list";

/** `refused`: by the store, with a 4xx status. `unavailable`: unreachable, silent, full or failing. */
export type ObjectFailure = "refused" | "unavailable" | "missing";

export class ObjectStoreError extends Error {
  override readonly name = "ObjectStoreError";
  readonly result: ObjectFailure;
  /** The store's, such as `NoSuchBucket`, or the connection's, such as `ECONNREFUSED`. */
  readonly code: string;

  constructor(result: ObjectFailure, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.result = result;
    this.code = code;
  }
}

/** Bytes `start` to `end`, without `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface OpenedObject {
  /** Of the whole object. */
  readonly bytes: number;
  /** The consumer must read it to its end, or end the iteration: both free the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Every method throws ObjectStoreError, at the latest 10 s after the last byte that the store accepted or sent. */
export interface ObjectStore {
  /** Complete when it resolves, and absent when it throws, except for what `delete` removes. Returns the size. Passes errors of `pieces` on. */
  put(key: string, pieces: AsyncIterable<Uint8Array>): Promise<number>;
  /** For small objects. Returns whether it was written. */
  putIfAbsent(key: string, bytes: Uint8Array): Promise<boolean>;
  replace(key: string, bytes: Uint8Array): Promise<void>;
  get(key: string, range?: ByteRange, signal?: AbortSignal): Promise<OpenedObject>;
  /** Undefined if there is no such object. */
  size(key: string): Promise<number | undefined>;
  /** The object and its unfinished uploads, if there are any. */
  delete(key: string): Promise<void>;
  /** A request that tells a wrong address or credential from an unreachable store. */
  check(): Promise<void>;
  close(): void;
}
