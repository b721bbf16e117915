/** What every operation is given: who calls, where the register is, and the settings that change behaviour. */
import type { Actor } from "../../access/actor.ts";
import type { Database } from "../../database/database.ts";
import type { Vault } from "../../database/vault.ts";
import type { Handlers, IfMatch, Resource, ResourceDefinition } from "../../jsonapi/define.ts";
import type { Hooks } from "./hooks.ts";

/** The settings that operations look at; a part of `settings.ts`. */
export interface ServiceOptions {
  readonly organizationCreation: "site-admins" | "anyone";
  readonly edition: "self-hosted" | "hosted";
  /** What `global-remote-state` is for a workspace that is created without one; self-hosted edition only. */
  readonly globalRemoteStateDefault: boolean;
  /** Where clients reach the service: the beginning of every absolute URL that it hands out. */
  readonly publicUrl: string;
  /** What runs workspaces that name no engine of their own; `terraform` where it is not said. */
  readonly engine?: "terraform" | "tofu";
  /** Addresses inside the operator's own network that the service may call. */
  readonly privateAddresses?: readonly string[];
  /** Whether pull requests from forks get plans. */
  readonly plansForks?: boolean;
  /** A file of the SSH host keys that code is fetched from. */
  readonly knownHosts?: string | undefined;
  /** What keeps other people's repositories from this machine; the strongest that works where it is not said. */
  readonly sandbox?: "bubblewrap" | "user" | "none" | undefined;
  /** How long somebody who signs in stays signed in. */
  readonly sessionHours?: number;
  /** How long a plan and an apply may take, in seconds. */
  readonly planTimeoutSeconds?: number;
  readonly applyTimeoutSeconds?: number;
  /** By which mail is sent, and from whom; undefined where none is. */
  readonly mail?: { readonly url: string; readonly from: string } | undefined;
  /** Other bounds of streams than usual. */
  readonly streams?: Partial<StreamLimits>;
}

/** Bounds of streams of events. */
export interface StreamLimits {
  readonly perCaller: number;
  readonly perOrganization: number;
  readonly perServer: number;
  /** How often a stream, or an export, looks whether its caller can still read it. */
  readonly checkMs: number;
  readonly heartbeatMs: number;
  /** How long a stream stays open; then the client continues with another. */
  readonly lifeMs: number;
}

export const accessCheckMs = 2_000;

export interface Browser {
  /** What it calls itself. */
  readonly name: string | null;
  /** Lets it keep a session's secret, where no script can read it. */
  keep(secret: string, until: string): void;
  /** Takes it back. */
  forget(): void;
}

/** How often somebody may fail to say who they are, counted by address, and by name and address. */
export interface SignIns {
  /** For secrets that are too long to be guessed. Raises `too-many-requests`. */
  check(): void;
  failed(): void;
  /** For a password: counts, unless it turns out to be right. Raises `too-many-requests`. */
  attempt(name: string, isRight: () => Promise<boolean>): Promise<boolean>;
  /** Somebody has shown otherwise that they are called so: guesses from elsewhere keep them out at this address no more. */
  succeeded(name: string): void;
}

export interface Context {
  readonly actor: Actor;
  readonly database: Database;
  readonly options: ServiceOptions;
  /** Seals and opens the secrets that are stored. */
  readonly vault: Vault;
  readonly requestId: string;
  /** Only an operation that takes `If-Match` has it, and has to check it before its transaction commits. */
  readonly ifMatch?: IfMatch;
  /** What other modules do where something of this one is created, deleted or unlocked. */
  readonly hooks: Hooks;
  /** There is work for this job: it need not wait until it is due. */
  readonly wake?: (job: string) => void;
  /** The address that the request comes from. */
  readonly address?: string;
  /** Where it comes from a browser, or may. */
  readonly browser?: Browser;
  /** The brakes on guessing. */
  readonly signIns?: SignIns;
  /** For what waits before it answers: whether nobody is there to be answered any more, or the server is about to stop. */
  readonly isGone?: () => boolean;
  /** What kind of client calls: what a workspace that it makes is said to come from. */
  readonly source?: "tfe-api" | "tfe-ui" | "terraform";
  /** How an engine's command line works with us, where it is one that calls: by a `cloud` block, or by the older `remote` backend. */
  readonly integration?: "cloud" | "remote" | undefined;
}

/** The context of an operation that takes `If-Match`. */
export type ConditionalContext = Context & { readonly ifMatch: IfMatch };

/** Joins a definition with the functions that carry out its operations. */
export function implement<const D extends ResourceDefinition>(
  definition: D,
  handlers: Handlers<Context, D>,
  admissions?: Resource<Context>["admissions"],
): Resource<Context> {
  return { definition, handlers: handlers as Resource<Context>["handlers"], admissions };
}
