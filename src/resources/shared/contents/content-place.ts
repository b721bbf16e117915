/** A place in an object store, as this register uses it: whose it is, whether it is available, and the names of its objects. */
import { randomBytes } from "node:crypto";
import type { BaseLogger } from "pino";
import type { Database } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import {
  type ObjectFailure,
  type ObjectOperation,
  type ObjectStore,
  ObjectStoreError,
} from "../../../object-store/object-store.ts";
import { isLeft } from "./left-place.ts";
import { type RegisterIdentity, registerIdentity } from "./register-identity.ts";

/** `none`: no marker yet. While it is the origin's, nothing may be deleted or overwritten. */
export type PlaceOwner = "own" | "origin" | "foreign" | "none";

export interface ContentPlaceOptions {
  readonly store: ObjectStore;
  /** As contents store it: `s3://bucket/prefix`. */
  readonly name: string;
  /** Empty for the whole bucket. */
  readonly prefix: string;
  readonly keepDays: number;
  readonly logger?: Pick<BaseLogger, "info" | "warn" | "error"> | undefined;
}

export const newObjectName = (): string => randomBytes(16).toString("hex");

const markerBytesMax = 4096;
/** As large as a chunk: a store that has no room for it is full. */
const probeBytes = 256 * 1024;
const checkMs = { available: 30_000, unavailable: 5_000 };
const retryAfterSeconds = 5;

export class ContentPlace {
  readonly store: ObjectStore;
  readonly name: string;
  readonly keepDays: number;
  readonly #keyPrefix: string;
  readonly #logger: ContentPlaceOptions["logger"];
  #identity: RegisterIdentity | undefined;
  #owner: PlaceOwner | undefined;
  #isAvailable = true;
  /** After a failed write: a full store still answers reads. */
  #mustWrite = false;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #isStopped = false;

  constructor({ store, name, prefix, keepDays, logger }: ContentPlaceOptions) {
    this.store = store;
    this.name = name;
    this.keepDays = keepDays;
    this.#keyPrefix = prefix === "" ? "" : `${prefix}/`;
    this.#logger = logger;
  }

  /** Folders keep the directories of stores on a file system small. */
  keyOf(objectName: string): string {
    return `${this.#keyPrefix}objects/${objectName.slice(0, 2)}/${objectName}`;
  }

  get status(): "available" | "unavailable" {
    return this.#isAvailable ? "available" : "unavailable";
  }

  /**
   * Claims the place, then checks it regularly. Returns an ObjectStoreError if the store is unavailable, which is not final. Throws
   * ObjectStoreError if the store refuses, and `conflict` if the place belongs to another register.
   */
  async start(database: Database): Promise<ObjectStoreError | undefined> {
    this.#identity = await registerIdentity(database);
    let failure: ObjectStoreError | undefined;
    try {
      await this.store.check();
      this.#owner = await this.claim(this.#identity);
      if (this.#owner === "foreign") throw this.#foreign();
    } catch (error) {
      if (!(error instanceof ObjectStoreError) || error.result !== "unavailable") throw error;
      failure = error;
    }
    this.#isAvailable = failure === undefined;
    this.#schedule();
    if (await isLeft(database.reader, this.name)) this.#logger?.warn({ place: this.name }, leftSentence);
    return failure;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.store.close();
  }

  /** A request failed: check at once, then regularly until the store is available again. */
  noteFailure(operation: ObjectOperation, result: ObjectFailure): void {
    if (operation === "put" && result !== "missing") this.#mustWrite = true;
    if (result === "missing" || !this.#isAvailable || this.#checking !== undefined || this.#isStopped) return;
    this.#isAvailable = false;
    this.#logger?.warn({ place: this.name }, "object store unavailable");
    this.#schedule();
  }

  /** Throws `unavailable` unless the place's marker is known to be this register's or its origin's. */
  async requireWritable(): Promise<void> {
    if (this.#owner === undefined || this.#owner === "none") await this.#check();
    if (this.#owner === "foreign") throw new AppError("unavailable", foreignSentence, { retryAfterSeconds });
    if (this.#owner !== "own" && this.#owner !== "origin") throw contentsUnavailable();
  }

  /** Reads the marker again. Throws `unavailable`. */
  async confirmDeletion(): Promise<boolean> {
    await this.#check();
    if (!this.#isAvailable && this.#owner !== "foreign") throw contentsUnavailable();
    return this.#owner === "own";
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#check().finally(() => this.#schedule()), checkMs[this.status]).unref();
  }

  #check(): Promise<void> {
    return (this.#checking ??= this.#readAgain().finally(() => (this.#checking = undefined)));
  }

  async #readAgain(): Promise<void> {
    const wasAvailable = this.#isAvailable;
    const previousOwner = this.#owner;
    try {
      if (this.#identity === undefined) return;
      this.#owner = await this.claim(this.#identity);
      if (this.#mustWrite && this.#owner !== "foreign") await this.#tryWriting(this.#identity);
      this.#isAvailable = this.#owner !== "foreign";
    } catch (error) {
      this.#isAvailable = false;
      if (wasAvailable) this.#logger?.warn({ place: this.name, err: error }, "object store unavailable");
    }
    if (this.#isAvailable && !wasAvailable) this.#logger?.info({ place: this.name }, "object store available");
    if (this.#owner === "foreign" && previousOwner !== "foreign")
      this.#logger?.error({ place: this.name }, "object store belongs to another register");
  }

  /** Not to the marker, which must never be incomplete. */
  async #tryWriting({ id }: RegisterIdentity): Promise<void> {
    const key = `${this.#keyPrefix}cadastre-check-${id}`;
    await this.store.replace(key, Buffer.alloc(probeBytes));
    this.#mustWrite = false;
    // The next check overwrites it.
    await this.store.delete(key).catch(() => {});
  }

  get #markerKey(): string {
    return `${this.#keyPrefix}cadastre-register.json`;
  }

  async readOwner({ id, origin }: RegisterIdentity): Promise<PlaceOwner> {
    const marker = await this.#readMarker();
    if (marker === undefined) return "none";
    if (marker === id) return "own";
    return marker === origin ? "origin" : "foreign";
  }

  /** Undefined if there is none; an unreadable marker belongs to nobody that we know. */
  async #readMarker(): Promise<string | undefined> {
    try {
      const { body } = await this.store.get(this.#markerKey, { start: 0, end: markerBytesMax });
      const pieces: Uint8Array[] = [];
      for await (const piece of body) pieces.push(piece);
      return registerIn(Buffer.concat(pieces).toString());
    } catch (error) {
      if (error instanceof ObjectStoreError && error.code === "NoSuchKey") return undefined;
      throw error;
    }
  }

  /** Writes the marker if there is none, and returns whose it is then. */
  async claim(identity: RegisterIdentity): Promise<PlaceOwner> {
    const owner = await this.readOwner(identity);
    if (owner !== "none") return owner;
    await this.store.putIfAbsent(this.#markerKey, markerOf(identity.id));
    return this.readOwner(identity);
  }

  /** For `contents adopt`. */
  async takeOver({ id }: RegisterIdentity): Promise<void> {
    await this.store.replace(this.#markerKey, markerOf(id));
  }

  #foreign(): AppError {
    return new AppError(
      "conflict",
      `The place ${this.name} belongs to another register. Name another bucket or prefix.`,
    );
  }
}

const leftSentence =
  "new contents go to the database, because 'cadastre contents move --to database' was run; to use the object store again, move to it";

const foreignSentence =
  "The object store's place belongs to another register now. The operator must set CADASTRE_CONTENTS to a place of this register.";

export const contentsUnavailable = (internal?: unknown): AppError =>
  new AppError("unavailable", "The object store with the contents is not available. Try again shortly.", {
    internal,
    retryAfterSeconds,
  });

const markerOf = (id: string): Uint8Array => Buffer.from(`${JSON.stringify({ register: id })}\n`);

function registerIn(text: string): string {
  try {
    return String((JSON.parse(text) as { register?: unknown }).register);
  } catch {
    return "";
  }
}
