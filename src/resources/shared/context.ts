/** The context of every operation: the caller, the database, and the settings that change behaviour. */
import type { Actor } from "../../access/actor.ts";
import type { Database } from "../../database/database.ts";
import type { Vault } from "../../database/vault.ts";
import type { Handlers, IfMatch, MountedResource, ResourceDefinition } from "../../jsonapi/define.ts";
import type { Hooks } from "./hooks.ts";

export interface ServiceOptions {
  readonly organizationCreation: "site-admins" | "anyone";
  readonly edition: "self-hosted" | "hosted";
  /** The default of `global-remote-state` for new workspaces; self-hosted edition only. */
  readonly globalRemoteStateDefault: boolean;
  /** The base of every absolute URL that the service returns. */
  readonly publicUrl: string;
  /** The engine of workspaces that choose none; `terraform` by default. */
  readonly engine?: "terraform" | "tofu";
  readonly privateAddresses?: readonly string[];
  readonly plansForks?: boolean;
  readonly knownHosts?: string | undefined;
  /** How repositories are isolated from this machine; by default the strongest method that works. */
  readonly sandbox?: "bubblewrap" | "user" | "none" | undefined;
  readonly sessionHours?: number;
  readonly planTimeoutSeconds?: number;
  readonly applyTimeoutSeconds?: number;
  /** The mail server and the sender's address; undefined if the service sends no mail. */
  readonly mail?: { readonly url: string; readonly from: string } | undefined;
  readonly streams?: Partial<StreamLimits>;
}

export interface StreamLimits {
  readonly perCaller: number;
  readonly perOrganization: number;
  readonly perServer: number;
  /** How often a stream or an export checks that its caller can still read it. */
  readonly checkMs: number;
  readonly heartbeatMs: number;
  /** How long a stream stays open; then the client opens another. */
  readonly lifeMs: number;
}

export const accessCheckMs = 2_000;

export interface Browser {
  readonly name: string | null;
  /** Stores the session's secret in a cookie that scripts can't read. */
  setSessionCookie(secret: string, until: string): void;
  clearSessionCookie(): void;
}

/** Limits failed sign-ins, by address, and by name and address. */
export interface SignInLimiter {
  /** For secrets that are too long to guess. Raises `too-many-requests`. */
  check(): void;
  recordFailure(): void;
  /** For a password: counts as a failure unless `isRight` resolves to true. Raises `too-many-requests`. */
  attempt(name: string, isRight: () => Promise<boolean>): Promise<boolean>;
  /** The user has authenticated in another way: earlier failures under this name no longer block them at this address. */
  recordSuccess(name: string): void;
}

export interface Context {
  readonly actor: Actor;
  readonly database: Database;
  readonly options: ServiceOptions;
  readonly vault: Vault;
  readonly requestId: string;
  /** Only set for operations that accept `If-Match`, which must check it before their transaction commits. */
  readonly ifMatch?: IfMatch;
  /** What other modules do when something of this one is created, deleted or unlocked. */
  readonly hooks: Hooks;
  /** Starts a job now instead of when it is next due. */
  readonly wake?: (job: string) => void;
  readonly address?: string;
  /** Set if the request comes, or may come, from a browser. */
  readonly browser?: Browser;
  readonly signIns?: SignInLimiter;
  /** For operations that wait: whether the client has disconnected, or the server is stopping. */
  readonly isGone?: () => boolean;
  /** The kind of client; workspaces that it creates have it as their `source`. */
  readonly source?: "tfe-api" | "tfe-ui" | "terraform";
  /** How the Terraform CLI connects, if it is the client: by a `cloud` block, or by the older `remote` backend. */
  readonly integration?: "cloud" | "remote" | undefined;
}

export type ConditionalContext = Context & { readonly ifMatch: IfMatch };

export function implement<const D extends ResourceDefinition>(
  definition: D,
  handlers: Handlers<Context, D>,
  admissions?: MountedResource<Context>["admissions"],
): MountedResource<Context> {
  return { definition, handlers: handlers as MountedResource<Context>["handlers"], admissions };
}
