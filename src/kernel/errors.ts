/** The errors that the service raises on purpose. Must not know about HTTP: `http/respond.ts` maps codes to statuses. */

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
  /** Clients recognize these by the title that HCP Terraform uses for whole records. */
  | "invalid-record"
  | "unsupported"
  | "too-many-requests"
  | "headers-too-large"
  | "unavailable"
  | "internal";

export interface Fault {
  readonly detail: string;
  readonly pointer?: string;
  readonly parameter?: string;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly faults: readonly Fault[];
  readonly internal: unknown;
  /** Only with `unavailable` and `too-many-requests`. */
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

/** Also where the caller is not allowed to know that the resource exists. */
export function notFound(resource: string): AppError {
  return new AppError(
    "not-found",
    `There is no such ${resource}, or you are not allowed to see it. Check the id or name, and the token that you use.`,
  );
}

/** Only if the caller can see the resource. The sentence names the missing permission. */
export function forbidden(sentence: string): AppError {
  return new AppError("forbidden", sentence);
}

export function conflict(sentence: string): AppError {
  return new AppError("conflict", sentence);
}

export function invalid(faults: readonly Fault[]): AppError {
  return new AppError("invalid", faults);
}

export function attributeFault(attribute: string, detail: string): Fault {
  return { detail, pointer: `/data/attributes/${attribute.replaceAll(".", "/")}` };
}

export function relationshipFault(relationship: string, detail: string): Fault {
  return { detail, pointer: `/data/relationships/${relationship}` };
}

export function throwIfInvalid(faults: readonly Fault[]): void {
  if (faults.length > 0) throw invalid(faults);
}
