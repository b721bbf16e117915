/** The setting of a request, and its differences from the operation's example. */
import type { Api, Caller } from "./api.ts";
import type { Tenant } from "./tenant.ts";

export interface Scene {
  readonly api: Api;
  readonly tenant: Tenant;
}

export interface Twist {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** Replaces the tenant's ids, by the type in the example. */
  readonly ids?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** With its signature, so that no token is needed. */
  readonly url?: string;
  /** If neither an owner nor a site admin is allowed. */
  readonly caller?: Caller;
}

export type Twists = Readonly<Record<string, (scene: Scene) => Promise<Twist>>>;
