/** What a scene is set on, and where its request differs from the operation's example. */
import type { Api, Caller } from "./api.ts";
import type { Tenant } from "./tenant.ts";

export interface Scene {
  readonly api: Api;
  readonly tenant: Tenant;
}

/** Where a request differs from the operation's example on the tenant's own things. */
export interface Twist {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** Instead of the ids of the tenant's things, by the type that the example names. */
  readonly ids?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Whole, with its signature: nobody needs a token. */
  readonly url?: string;
  /** Who may, where that is neither an owner nor a site admin. */
  readonly caller?: Caller;
}

/** By operation. */
export type Twists = Readonly<Record<string, (scene: Scene) => Promise<Twist>>>;
