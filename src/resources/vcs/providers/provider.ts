/** The interface of VCS providers, and helpers for implementations. Providers describe requests and never send them. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { VcsSource } from "../../runs/configuration-versions/definition.ts";
import type { VcsRepositoryEvent } from "../triggers/repository-event.ts";

export interface ProviderConnection {
  readonly serviceProvider: string;
  readonly apiUrl: string;
  readonly httpUrl: string;
}

export interface WebhookRequest {
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
}

export interface ParsedWebhook {
  /** `ORGANIZATION/REPOSITORY`, as in a workspace's settings. */
  readonly repository: string;
  readonly deliveryId: string | undefined;
  readonly events: readonly VcsRepositoryEvent[];
}

export interface ApiCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly body?: object;
}

export type CommitState = "pending" | "running" | "needs-confirmation" | "success" | "failure" | "canceled";

export interface CommitStatus {
  readonly sha: string;
  readonly state: CommitState;
  readonly context: string;
  readonly description: string;
  readonly url: string;
}

export interface WebhookTarget {
  readonly url: string;
  readonly secret: string;
}

export interface VcsProvider {
  readonly source: VcsSource;
  /** Must not parse the body. */
  isAuthentic(inbound: WebhookRequest, secret: string): boolean;
  parseWebhook(inbound: WebhookRequest, payload: unknown, connection: ProviderConnection): ParsedWebhook | undefined;
  cloneUrl(connection: ProviderConnection, repository: string): string;
  gitAuthorization(token: string): string;
  apiAuthorization(token: string): string;
  readonly overSsh?: {
    readonly call: (connection: ProviderConnection, repository: string) => ApiCall;
    readonly read: (answer: unknown) => string | undefined;
  };
  statusCall(connection: ProviderConnection, repository: string, status: CommitStatus): ApiCall;
  /** Several if a webhook at this provider can only have one kind of event. */
  addWebhookCalls(connection: ProviderConnection, repository: string, webhook: WebhookTarget): readonly ApiCall[];
  removeWebhookCall(connection: ProviderConnection, repository: string, webhookId: string): ApiCall;
  readonly parseWebhookId: (answer: unknown) => string | undefined;
  repositoriesCall(connection: ProviderConnection, page: number): ApiCall;
  branchesCall(connection: ProviderConnection, repository: string, page: number): ApiCall;
  readonly parseRepositories: (answer: unknown, connection: ProviderConnection) => readonly string[];
  readonly parseBranches: (answer: unknown) => readonly string[];
  /** `none`: one response has the whole list. `capped`: pages may be smaller than requested. */
  readonly paging?: "none" | "capped";
}

export const pageSize = 100;

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, "");

/** Encodes each segment: `acme/my repo` → `acme/my%20repo`. */
export const pathOf = (repository: string): string => repository.split("/").map(encodeURIComponent).join("/");

/** In constant time, independent of the lengths. */
export function isEqualSecret(sent: string | undefined, expected: string): boolean {
  if (sent === undefined) return false;
  const hashed = (text: string) => createHmac("sha256", "compared").update(text).digest();
  return timingSafeEqual(hashed(sent), hashed(expected));
}

export const hmacHex = (body: Uint8Array, secret: string): string =>
  createHmac("sha256", secret).update(body).digest("hex");

export const basicAuth = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
export const bearerAuth = (token: string): string => `Bearer ${token}`;

export const shaShape = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
/** Bounded, because it is stored; neither database stores NUL characters or lone surrogates. */
export const nameShape = z
  .string()
  .min(1)
  .max(512)
  .refine((name) => !name.includes("\0") && name.isWellFormed());
export const textShape = z
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

export function readRef(ref: string): { readonly branch: string } | { readonly tag: string } | undefined {
  if (ref.startsWith("refs/heads/")) return { branch: ref.slice("refs/heads/".length) };
  return ref.startsWith("refs/tags/") ? { tag: ref.slice("refs/tags/".length) } : undefined;
}

/** Bounds parsing: an error for each item of a longer list would block the server. */
export const answerItemsMax = 10_000;

/** A longer list counts as unknown, because comparing it would take too long. */
const filesMax = 10_000;

interface FileChanges {
  readonly added?: readonly string[] | null | undefined;
  readonly modified?: readonly string[] | null | undefined;
  readonly removed?: readonly string[] | null | undefined;
}

export function filesOf(commits: readonly FileChanges[], isComplete: boolean): readonly string[] | null {
  if (!isComplete) return null;
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

/** Null for a list that is too long: validating each item would take too long. */
export const filesShape = z.custom<readonly string[]>(areFiles).nullish().catch(null);

/** Further commits are ignored. */
export const commitsListedMax = 2048;
export const commitsOf = <Shape extends z.ZodType>(shape: Shape) =>
  z.preprocess(
    (commits: unknown) => (Array.isArray(commits) ? (commits as unknown[]).slice(0, commitsListedMax) : commits),
    z.array(shape).nullish(),
  );
