/** The context of every operation. */
import type { Actor } from "../../access/actor.ts";
import type { Database } from "../../database/database.ts";
import type { Vault } from "../../database/vault.ts";
import type { Handlers, IfMatch, MountedResource, ResourceDefinition } from "../../jsonapi/define.ts";
import type { ContentPlace } from "./contents/content-place.ts";
import type { RuledChange, Hooks, RuleMatch } from "./hooks.ts";

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

/** How access rules apply to the changes of a context. */
export interface AccessRuleScope {
  /** `skip`: the caller needs only the effects of the changes, and rolls them back. Matches are reported, but refuse nothing. */
  readonly mode: "enforce" | "skip";
  /** Whose change it is; absent: the context's actor. */
  readonly principal?: Actor;
  /** The changes are executed by an approved access request. */
  readonly isApproved: boolean;
  readonly isBreakGlass: boolean;
  /** Called for each match, also of a rule that then refuses the change. */
  readonly onMatch?: (change: RuledChange, match: RuleMatch) => void;
}

export interface Context {
  readonly actor: Actor;
  readonly database: Database;
  readonly options: ServiceOptions;
  readonly vault: Vault;
  readonly requestId: string;
  /** Absent: rules are enforced, and those that advise are shown in `meta.warnings` of the response. */
  readonly accessRules?: AccessRuleScope;
  /** The access request that the changes belong to; their audit events name it. */
  readonly accessRequestId?: string;
  /** Adds a warning to the response's `meta.warnings`. Call after the commit. */
  readonly warn?: (match: RuleMatch) => void;
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
