/** The context of every operation. */
import type { Actor } from "../../access/actor.ts";
import type { Database } from "../../database/database.ts";
import type { Vault } from "../../database/vault.ts";
import type { Handlers, IfMatch, MountedResource, ResourceDefinition } from "../../jsonapi/define.ts";
import type { ContentPlace } from "./contents/content-place.ts";
import type { Hooks } from "./hooks.ts";

export interface ServiceOptions {
  readonly organizationCreation: "site-admins" | "anyone";
  readonly edition: "self-hosted" | "hosted";
  /** Self-hosted edition only. */
  readonly globalRemoteStateDefault: boolean;
  readonly publicUrl: string;
  readonly engine?: "terraform" | "tofu";
  readonly privateAddresses?: readonly string[];
  readonly plansForks?: boolean;
  readonly knownHosts?: string | undefined;
  /** By default the strongest method that works. */
  readonly sandbox?: "bubblewrap" | "user" | "none" | undefined;
  readonly sessionHours?: number;
  readonly planTimeoutSeconds?: number;
  readonly applyTimeoutSeconds?: number;
  readonly mail?: { readonly url: string; readonly from: string } | undefined;
  readonly streams?: Partial<StreamLimits>;
  /** Where new contents go; the database by default. */
  readonly contentPlace?: ContentPlace | undefined;
}

export interface StreamLimits {
  readonly perCaller: number;
  readonly perOrganization: number;
  readonly perServer: number;
  readonly checkMs: number;
  readonly heartbeatMs: number;
  readonly lifetimeMs: number;
}

export const accessCheckMs = 2_000;

export interface Browser {
  readonly name: string | null;
  /** Scripts must not be able to read the cookie. */
  setSessionCookie(secret: string, until: string): void;
  clearSessionCookie(): void;
}

export interface SignInLimiter {
  /** For secrets that are too long to guess. Throws `too-many-requests`. */
  check(): void;
  recordFailure(): void;
  /** Counts as a failure unless `verify` resolves to true. Throws `too-many-requests`. */
  attempt(name: string, verify: () => Promise<boolean>): Promise<boolean>;
  /** Earlier failures under this name no longer block the user at this address. */
  recordSuccess(name: string): void;
}

export interface Context {
  readonly actor: Actor;
  readonly database: Database;
  readonly options: ServiceOptions;
  readonly vault: Vault;
  readonly requestId: string;
  /** Set for operations that accept `If-Match`; they must check it before their transaction commits. */
  readonly ifMatch?: IfMatch;
  readonly hooks: Hooks;
  readonly wake?: (job: string) => void;
  readonly address?: string;
  readonly browser?: Browser;
  readonly signIns?: SignInLimiter;
  /** For operations that wait: the client has disconnected, or the server is stopping. */
  readonly isDisconnected?: () => boolean;
  /** Workspaces that it creates get it as their `source`. */
  readonly source?: "tfe-api" | "tfe-ui" | "terraform";
  /** Of the Terraform CLI; `remote` is the older backend. */
  readonly integration?: "cloud" | "remote" | undefined;
}

export type ConditionalContext = Context & { readonly ifMatch: IfMatch };

export function implement<const D extends ResourceDefinition>(
  definition: D,
  handlers: Handlers<Context, D>,
  bodyChecks?: MountedResource<Context>["bodyChecks"],
): MountedResource<Context> {
  return { definition, handlers: handlers as MountedResource<Context>["handlers"], bodyChecks };
}
