/** The adapter for S3. The only file that imports the SDK. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlaceAddress } from "./address.ts";
import { Deadline, silenceMsMax } from "./deadline.ts";
import type { ByteRange, ObjectFailure, ObjectOperation, ObjectStore, OpenedObject } from "./object-store.ts";
import { bodyOf, inParts, type ObjectPart, partOf } from "./parts.ts";
import { storeErrorOf } from "./s3-errors.ts";

export interface ObjectRequest {
  readonly operation: ObjectOperation;
  readonly result: ObjectFailure | "ok";
  readonly seconds: number;
}

export interface S3Options {
  readonly onRequest?: (request: ObjectRequest) => void;
  readonly silenceMs?: number;
}

const attemptsMax = 3;
const firstPauseMs = 200;

/** Slow readers occupy a connection each. */
const connectionsMax = 256;

type Attempt<T> = (deadline: Deadline) => Promise<T>;
type SentBody = (body: Readable, abortSignal: { abortSignal: AbortSignal }) => Promise<{ readonly ETag?: string }>;

export class S3Store implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #onRequest: (request: ObjectRequest) => void;
  readonly #silenceMs: number;

  constructor(
    { bucket, prefix, region, endpoint, isPathStyle }: PlaceAddress,
    { onRequest = () => {}, silenceMs = silenceMsMax }: S3Options = {},
  ) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#onRequest = onRequest;
    this.#silenceMs = silenceMs;
    this.#client = new S3Client({
      ...(region !== undefined && { region }),
      ...(endpoint !== undefined && { endpoint }),
      forcePathStyle: isPathStyle,
      // Checksums that the request does not need break some stores.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      // Retries are here, so that the deadline includes them.
      maxAttempts: 1,
      // Stores that do not know it would delay every upload.
      expectContinueHeader: false,
      requestHandler: {
        connectionTimeout: silenceMs,
        httpAgent: { keepAlive: true, maxSockets: connectionsMax },
        httpsAgent: { keepAlive: true, maxSockets: connectionsMax },
      },
    });
  }

  async put(key: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
    const parts = inParts(pieces);
    const first = await parts.next();
    // The generator yields at least one part.
    const part = first.value as ObjectPart;
    if (!part.isLast) return this.#putParts(key, part, parts);
    await this.#putPart(part, {}, key);
    return part.bytes.length;
  }

  async #putPart(part: ObjectPart, headers: { IfNoneMatch?: string }, key: string): Promise<void> {
    await this.#send("put", part, (Body, options) =>
      this.#client.send(
        new PutObjectCommand({
          ...this.#at(key),
          ...headers,
          Body,
          ContentLength: part.bytes.length,
          ContentMD5: part.md5,
        }),
        options,
      ),
    );
  }

  async #putParts(key: string, first: ObjectPart, others: AsyncIterable<ObjectPart>): Promise<number> {
    const upload = await this.#request("put", ({ signal }) =>
      this.#client.send(new CreateMultipartUploadCommand(this.#at(key)), { abortSignal: signal }),
    );
    const at = { ...this.#at(key), UploadId: upload.UploadId };
    const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
    let bytes = 0;
    const send = async (part: ObjectPart) => {
      const PartNumber = Parts.length + 1;
      const { ETag } = await this.#send("put", part, (Body, options) => {
        const sent = { ...at, PartNumber, Body, ContentLength: part.bytes.length, ContentMD5: part.md5 };
        return this.#client.send(new UploadPartCommand(sent), options);
      });
      Parts.push({ PartNumber, ETag });
      bytes += part.bytes.length;
    };
    try {
      await send(first);
      for await (const part of others) await send(part);
      await this.#request("put", ({ signal }) =>
        this.#client.send(new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } }), {
          abortSignal: signal,
        }),
      );
    } catch (error) {
      // Not awaited: the store may be silent. The clean-up removes what is left.
      this.#abort(at.UploadId, key).catch(() => {});
      throw error;
    }
    return bytes;
  }

  async putIfAbsent(key: string, bytes: Uint8Array): Promise<boolean> {
    try {
      await this.#putPart(partOf(bytes), { IfNoneMatch: "*" }, key);
      return true;
    } catch (error) {
      if (["PreconditionFailed", "ConditionalRequestConflict"].includes(storeErrorOf(error).code)) return false;
      throw error;
    }
  }

  replace(key: string, bytes: Uint8Array): Promise<void> {
    return this.#putPart(partOf(bytes), {}, key);
  }

  async get(key: string, range?: ByteRange, signal?: AbortSignal): Promise<OpenedObject> {
    const startedAt = performance.now();
    const end = (result: ObjectFailure | "ok") => this.#report("get", result, startedAt);
    const Range = range && `bytes=${range.start}-${range.end - 1}`;
    const { value, deadline } = await this.#attempts(async (attempt) => {
      const abortSignal = signal === undefined ? attempt.signal : AbortSignal.any([attempt.signal, signal]);
      return this.#client.send(new GetObjectCommand({ ...this.#at(key), Range }), { abortSignal });
    }, end);
    deadline.stop();
    const total = value.ContentRange?.split("/")[1] ?? value.ContentLength;
    return { bytes: Number(total), body: readBody(value.Body as Readable, deadline, end, signal) };
  }

  async size(key: string): Promise<number | undefined> {
    try {
      const { ContentLength } = await this.#request("get", ({ signal }) =>
        this.#client.send(new HeadObjectCommand(this.#at(key)), { abortSignal: signal }),
      );
      return ContentLength;
    } catch (error) {
      if (storeErrorOf(error).result === "missing") return undefined;
      throw error;
    }
  }

  /** Uploads first: one that is being completed can't bring the object back then. */
  async delete(key: string): Promise<void> {
    const { Uploads = [] } = await this.#request("list", ({ signal }) =>
      this.#client.send(new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: key }), {
        abortSignal: signal,
      }),
    );
    for (const { Key, UploadId } of Uploads) if (Key === key) await this.#abort(UploadId, key);
    await this.#unlessMissing(
      this.#request("delete", ({ signal }) =>
        this.#client.send(new DeleteObjectCommand(this.#at(key)), { abortSignal: signal }),
      ),
    );
  }

  async check(): Promise<void> {
    const Prefix = this.#prefix === "" ? undefined : `${this.#prefix}/`;
    await this.#request("list", ({ signal }) =>
      this.#client.send(new ListObjectsV2Command({ Bucket: this.#bucket, Prefix, MaxKeys: 1 }), {
        abortSignal: signal,
      }),
    );
  }

  close(): void {
    this.#client.destroy();
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: key };
  }

  #abort(UploadId: string | undefined, key: string): Promise<void> {
    return this.#unlessMissing(
      this.#request("delete", ({ signal }) =>
        this.#client.send(new AbortMultipartUploadCommand({ ...this.#at(key), UploadId }), { abortSignal: signal }),
      ),
    );
  }

  async #unlessMissing(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      if (storeErrorOf(error).result !== "missing") throw error;
    }
  }

  async #send(operation: ObjectOperation, part: ObjectPart, send: SentBody): Promise<{ readonly ETag?: string }> {
    return this.#request(operation, async (deadline) => {
      const body = bodyOf(part, deadline.restart);
      // Unread bodies of refused requests are destroyed below.
      body.on("error", () => {});
      try {
        return await send(body, { abortSignal: deadline.signal });
      } finally {
        body.destroy();
      }
    });
  }

  async #request<T>(operation: ObjectOperation, attempt: Attempt<T>): Promise<T> {
    const startedAt = performance.now();
    const report = (result: ObjectFailure | "ok") => this.#report(operation, result, startedAt);
    const { value, deadline } = await this.#attempts(attempt, report);
    deadline.stop();
    report("ok");
    return value;
  }

  /** The caller stops the deadline. */
  async #attempts<T>(
    attempt: Attempt<T>,
    onFailure: (result: ObjectFailure) => void,
  ): Promise<{ value: T; deadline: Deadline }> {
    const deadline = new Deadline(this.#silenceMs);
    for (let count = 1; ; count += 1) {
      try {
        return { value: await Promise.race([this.#begin(attempt, deadline), untilAborted(deadline.signal)]), deadline };
      } catch (error) {
        const { aborted, reason } = deadline.signal;
        const failure = storeErrorOf(aborted ? reason : error);
        if (failure.result === "unavailable" && !aborted && !isAborted(error) && count < attemptsMax) {
          await sleep(firstPauseMs * 2 ** (count - 1));
          if (!deadline.signal.aborted) continue;
        }
        deadline.stop();
        onFailure(failure.result);
        throw failure;
      }
    }
  }

  /** The client would not notice the end of the deadline while it waits for credentials, and hold the request's body. */
  async #begin<T>(attempt: Attempt<T>, deadline: Deadline): Promise<T> {
    await this.#client.config.credentials();
    deadline.signal.throwIfAborted();
    return attempt(deadline);
  }

  #report(operation: ObjectOperation, result: ObjectFailure | "ok", startedAt: number): void {
    this.#onRequest({ operation, result, seconds: (performance.now() - startedAt) / 1000 });
  }
}

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));

const isAborted = (error: unknown): boolean => (error as Error).name === "AbortError";

/** Destroyed when the consumer ends the iteration, so that the connection is free. */
async function* readBody(
  body: Readable,
  deadline: Deadline,
  end: (result: ObjectFailure | "ok") => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const destroy = () => body.destroy((deadline.signal.aborted ? deadline.signal : signal)?.reason as Error);
  deadline.signal.addEventListener("abort", destroy, { once: true });
  signal?.addEventListener("abort", destroy, { once: true });
  let result: ObjectFailure | "ok" = "ok";
  try {
    deadline.restart();
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      deadline.stop();
      yield piece;
      deadline.restart();
    }
  } catch (error) {
    const failure = storeErrorOf(error);
    result = failure.result;
    throw failure;
  } finally {
    deadline.stop();
    signal?.removeEventListener("abort", destroy);
    body.destroy();
    end(result);
  }
}
