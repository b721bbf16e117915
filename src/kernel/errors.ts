/**
 * The one error that the service raises on purpose. It carries what the caller may know (`faults`) apart from what only
 * the log may know (`internal`). It knows no HTTP: `http/respond.ts` turns a code into a status.
 */

export type ErrorCode =
  | "bad-request"
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "timed-out"
  | "conflict"
  | "precondition-failed"
  | "too-large"
  | "unsupported-media-type"
  | "expectation-failed"
  | "invalid"
  /** Like `invalid`, where clients know the refusal by the title that HCP Terraform gives to whole records. */
  | "invalid-record"
  /** Known to clients of this API, and not done here (yet). */
  | "unsupported"
  | "too-many-requests"
  | "headers-too-large"
  | "unavailable"
  | "internal";

/** One thing that is wrong, told to the person who can mend it. */
export interface Fault {
  readonly detail: string;
  /** A JSON pointer into the request's body. */
  readonly pointer?: string;
  /** The name of a query parameter. */
  readonly parameter?: string;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly faults: readonly Fault[];
  readonly internal: unknown;
  /** Seconds after which it is worth trying again; only with `unavailable` and `too-many-requests`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    faults: readonly Fault[] | string,
    options: { internal?: unknown; retryAfterSeconds?: number } = {},
  ) {
    const list = typeof faults === "string" ? [{ detail: faults }] : faults;
    super(list.map((fault) => fault.detail).join(" "));
    this.name = "AppError";
    this.code = code;
    this.faults = list;
    this.internal = options.internal;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The thing is not there, or the caller may not know that it is. */
export function notFound(thing: string): AppError {
  return new AppError(
    "not-found",
    `There is no such ${thing}, or you are not allowed to see it. Check the id or name, and the token that you use.`,
  );
}

/** The caller may see the thing, but not do this to it. The sentence names what is missing. */
export function forbidden(sentence: string): AppError {
  return new AppError("forbidden", sentence);
}

export function conflict(sentence: string): AppError {
  return new AppError("conflict", sentence);
}

export function invalid(faults: readonly Fault[]): AppError {
  return new AppError("invalid", faults);
}

/** A fault of one attribute, addressed the way clients expect it. */
export function attributeFault(attribute: string, detail: string): Fault {
  return { detail, pointer: `/data/attributes/${attribute.replaceAll(".", "/")}` };
}

export function relationshipFault(relationship: string, detail: string): Fault {
  return { detail, pointer: `/data/relationships/${relationship}` };
}

/** Raises 422 with all faults at once, or does nothing where there are none. */
export function refuseIfAny(faults: readonly Fault[]): void {
  if (faults.length > 0) throw invalid(faults);
}
