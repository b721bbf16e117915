/** Translates the errors of the S3 client, of the connection and of the credentials. */
import { type ObjectFailure, ObjectStoreError } from "./object-store.ts";

interface ClientError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  /** The store's code where the client has a class of its own. */
  readonly Code?: string;
}

/** Refusals that a retry can mend. */
const passing = new Set(["RequestTimeout", "RequestTimeoutException", "OperationAborted", "Throttling"]);
/** Other stores answer 404 for an unknown access key or a missing bucket, too. A range behind the object's end is missing as well. */
const absences = new Set(["NoSuchKey", "NotFound", "NoSuchUpload", "InvalidRange"]);
const isClientSide = (name: string, message: string): boolean =>
  name === "CredentialsProviderError" ? !hasCredentialsEndpoint() : /credentials|^region /i.test(message);

/** Of the container: if it does not respond, the client reports that there are no credentials. */
const hasCredentialsEndpoint = (): boolean =>
  Object.keys(process.env).some((name) => /^AWS_CONTAINER_CREDENTIALS_(FULL|RELATIVE)_URI$/.test(name));

export function storeErrorOf(error: unknown): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error;
  const { name, message, code, Code, $metadata } = error as ClientError;
  const status = $metadata?.httpStatusCode;
  const storeCode = status === undefined ? (code ?? name) : (Code ?? name);
  const result = resultOf(status, storeCode, error as ClientError);
  return new ObjectStoreError(result, storeCode, `${storeCode}: ${message}`, { cause: error });
}

function resultOf(status: number | undefined, code: string, { name, message }: ClientError): ObjectFailure {
  if (status === undefined) return isClientSide(name, message) ? "refused" : "unavailable";
  if (status >= 500 || status === 429 || status === 408 || passing.has(code)) return "unavailable";
  if (absences.has(code)) return "missing";
  // A success whose body could not be understood.
  return status < 300 ? "unavailable" : "refused";
}
