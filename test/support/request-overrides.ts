/** How a test's request differs from the operation's example, so that it succeeds. */
import type { Api, Caller } from "./api.ts";
import type { Tenant } from "./tenant.ts";

export interface Scene {
  readonly api: Api;
  readonly tenant: Tenant;
}

export interface RequestOverride {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** Replaces the tenant's ids, by the type in the example. */
  readonly ids?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** A signed URL, which needs no token. */
  readonly url?: string;
  /** The caller, if neither an owner nor a site admin is allowed. */
  readonly caller?: Caller;
}

export type RequestOverrides = Readonly<Record<string, (scene: Scene) => Promise<RequestOverride>>>;
