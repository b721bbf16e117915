/**
 * What a provider of version control is to us: how to know and read what it sends, where its code is, and how to tell it what became
 * of a commit. Every provider is a file of this shape; none of them does anything by itself.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { VcsSource } from "../../runs/configuration-versions/definition.ts";
import type { Happening } from "../triggers/happening.ts";

/** Where an organization's connection leads. */
export interface Connection {
  readonly serviceProvider: string;
  readonly apiUrl: string;
  readonly httpUrl: string;
}

/** A webhook as it arrived. */
export interface Inbound {
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
}

/** What it tells, once it is known to be genuine. */
export interface Received {
  /** As workspaces name it: `ORGANIZATION/REPOSITORY`. */
  readonly repository: string;
  /** What the provider calls this delivery; undefined where it has no name for it. */
  readonly deliveryId: string | undefined;
  /** In their order; none where it is of no interest to us. */
  readonly events: readonly Happening[];
}

/** A request to the provider's API. */
export interface ApiCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly body?: object;
}

/** What is told about a commit. */
export type CommitState = "pending" | "running" | "needs-confirmation" | "success" | "failure" | "canceled";

export interface CommitStatus {
  readonly sha: string;
  readonly state: CommitState;
  /** What distinguishes it from others' statuses of the same commit. */
  readonly context: string;
  readonly description: string;
  readonly url: string;
}

export interface Webhook {
  readonly url: string;
  readonly secret: string;
}

export interface Provider {
  /** What configurations that come from it are said to come from. */
  readonly source: VcsSource;
  /** Whether it was signed with this secret. Nothing of the body is looked at before. */
  isAuthentic(inbound: Inbound, secret: string): boolean;
  /** Undefined for what can't be read as anything that we know. */
  read(inbound: Inbound, payload: unknown, connection: Connection): Received | undefined;
  /** Where git fetches it, over HTTPS. */
  cloneUrl(connection: Connection, repository: string): string;
  /** The value of the header `Authorization`, for git and for the API. */
  gitAuthorization(token: string): string;
  apiAuthorization(token: string): string;
  /** Which request tells where git fetches it over SSH, and what to read out of the answer; where it is fetched like that at all. */
  readonly overSsh?: {
    readonly call: (connection: Connection, repository: string) => ApiCall;
    readonly read: (answer: unknown) => string | undefined;
  };
  status(connection: Connection, repository: string, status: CommitStatus): ApiCall;
  /** One where a webhook may be about several kinds of events, else as many as are needed. */
  addWebhooks(connection: Connection, repository: string, webhook: Webhook): readonly ApiCall[];
  /** By what the answer to one of those said. */
  removeWebhook(connection: Connection, repository: string, webhookId: string): ApiCall;
  readonly webhookId: (answer: unknown) => string | undefined;
  /** A page of repositories that the token can see, and of a repository's branches, counted from 1. */
  repositories(connection: Connection, page: number): ApiCall;
  branches(connection: Connection, repository: string, page: number): ApiCall;
  /** The names in such an answer. */
  readonly names: {
    readonly repositories: (answer: unknown, connection: Connection) => readonly string[];
    readonly branches: (answer: unknown) => readonly string[];
  };
  /** `whole`: pages are not known there, and all comes at once; `capped`: a page may be smaller than what was asked for. */
  readonly lists?: "whole" | "capped";
}

export const pageSize = 100;

/** Without a slash at its end. */
export const base = (url: string): string => url.replace(/\/+$/, "");

/** Each part by itself: `acme/my repo` → `acme/my%20repo`. */
export const pathOf = (repository: string): string => repository.split("/").map(encodeURIComponent).join("/");

/** In constant time; a text of another length is just as wrong. */
export function isSame(sent: string | undefined, expected: string): boolean {
  if (sent === undefined) return false;
  const hashed = (text: string) => createHmac("sha256", "compared").update(text).digest();
  return timingSafeEqual(hashed(sent), hashed(expected));
}

export const hmacHex = (body: Uint8Array, secret: string): string =>
  createHmac("sha256", secret).update(body).digest("hex");

export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
export const bearer = (token: string): string => `Bearer ${token}`;

// --- shapes of what is sent

/** A commit's id: SHA-1, or SHA-256. */
export const shaShape = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
/** Bounded, because it is stored; and neither engine stores the character 0 or half a character. */
export const nameShape = z
  .string()
  .min(1)
  .max(512)
  .refine((name) => !name.includes("\0") && name.isWellFormed());
export const wordsShape = z
  .string()
  .transform((text) => text.slice(0, 10_000).replaceAll("\0", "").toWellFormed())
  .nullish()
  .transform((text) => text ?? null);
export const urlShape = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .nullish()
  .catch(null)
  .transform((url) => url ?? null);

export const isZero = (sha: string): boolean => /^0+$/.test(sha);

/** `refs/heads/main` → a branch, `refs/tags/v1` → a tag; anything else is neither. */
export function readRef(ref: string): { readonly branch: string } | { readonly tag: string } | undefined {
  if (ref.startsWith("refs/heads/")) return { branch: ref.slice("refs/heads/".length) };
  return ref.startsWith("refs/tags/") ? { tag: ref.slice("refs/tags/".length) } : undefined;
}

/** What an answer of a provider lists at most; a fault for each item of more would hold everybody up. */
export const answerItemsMax = 10_000;

/** More are as good as unknown: comparing them would take too long. */
const filesMax = 10_000;

interface FileChanges {
  readonly added?: readonly string[] | null | undefined;
  readonly modified?: readonly string[] | null | undefined;
  readonly removed?: readonly string[] | null | undefined;
}

/** Of all commits together; null where a list is missing, or there may be more than these. */
export function filesOf(commits: readonly FileChanges[], isWhole: boolean): readonly string[] | null {
  if (!isWhole) return null;
  const files = new Set<string>();
  for (const { added, modified, removed } of commits) {
    if (!Array.isArray(added) || !Array.isArray(modified) || !Array.isArray(removed)) return null;
    for (const file of [...added, ...modified, ...removed]) files.add(file);
    if (files.size > filesMax) return null;
  }
  return [...files];
}

const areFiles = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length <= filesMax &&
  value.every((file: unknown) => typeof file === "string" && file.length <= 4096);

/** Unknown where they are too many: a fault for each item would take longer than the list is worth. */
export const filesShape = z.custom<readonly string[]>(areFiles).nullish().catch(null);

/** As many commits as a provider lists at most; what follows is not looked at. */
export const commitsListedMax = 2048;
export const commitsOf = <Shape extends z.ZodType>(shape: Shape) =>
  z.preprocess(
    (commits: unknown) => (Array.isArray(commits) ? (commits as unknown[]).slice(0, commitsListedMax) : commits),
    z.array(shape).nullish(),
  );
