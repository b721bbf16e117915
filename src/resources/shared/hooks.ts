/** Hooks by which a module calls modules that import it. Every hook runs in the caller's transaction. */
import type { Actor } from "../../access/actor.ts";
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";
import type { Tx } from "../../database/database.ts";
import type { OrganizationTable, ShownToken } from "../../database/schema/identity.ts";
import type { WorkspaceTable } from "../../database/schema/workspaces.ts";
import type { Context } from "./context.ts";
import type { IncludeLoader } from "./includes.ts";

export type CurrentStateColumns = Pick<
  WorkspaceTable,
  "currentStateVersionId" | "resourceCount" | "stateEncrypted" | "outputIds"
>;
/** `lease-ended`: the lock's lease has expired. */
export type UnlockPermission = "can-unlock" | "can-force-unlock" | "lease-ended";
type WorkspaceWithState = Pick<WorkspaceTable, "id" | "organizationId" | "currentStateVersionId">;

/** Without `workspaceId`: a project, for its future workspaces. */
export interface ScopeTarget {
  readonly organizationId: string;
  readonly projectId: string;
  readonly workspaceId?: string;
}

export interface AgentPoolToken extends ShownToken {
  readonly organizationName: string | null;
  readonly agentPoolId: string;
}
type ManagedAgentToken = Granted<AgentPoolToken, "can-update-agent-pools">;

export type ConnectedWorkspace = Pick<WorkspaceTable, "id" | "organizationId" | "vcsBranch"> & {
  readonly vcsIdentifier: string;
};

export const repositoryJobs: readonly string[] = ["vcs-events", "vcs-webhooks"];

export interface OrganizationHooks {
  initializeOrganization(
    tx: Tx,
    by: Capability<"new-organization">,
    organization: OrganizationTable,
    creatorId: string | undefined,
  ): Promise<void>;
  /** Runs before the team is deleted. */
  decrementTeamCounters(tx: Tx, team: Granted<{ readonly id: string }, "can-destroy">): Promise<void>;
  /** Runs before the invitations are merged into memberships. */
  mergeInvitedRecipients(tx: Tx, userId: string, invitationIds: readonly string[]): Promise<void>;
}

export interface ScopeHooks {
  /** Also true without a pool, or for an unknown one, which is reported elsewhere. */
  agentPoolServes(tx: Tx, target: ScopeTarget, agentPoolId: string | null | undefined): Promise<boolean>;
  oauthTokenServes(tx: Tx, target: ScopeTarget, oauthTokenId: string | null | undefined): Promise<boolean>;
  removeScopeTarget(
    tx: Tx,
    target: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
  ): Promise<void>;
}

export interface AgentTokenHooks {
  /** Throws `not-found` if the caller can't manage the token. */
  loadAgentToken(tx: Tx, context: Context, id: string): Promise<ManagedAgentToken>;
  revokeAgentToken(tx: Tx, context: Context, token: ManagedAgentToken): Promise<void>;
}

export interface RepositoryHooks {
  recordConnected(tx: Tx, workspace: Granted<ConnectedWorkspace, "can-update" | "can-create-workspace">): Promise<void>;
}

export interface StateHooks {
  /** While true, the resources in the state are not known yet. */
  isStateProcessing(tx: Tx, workspaceId: string): Promise<boolean>;
  /** On unlock, makes the lock holder's latest state current. For a run, only states that its apply wrote. Throws `unavailable` during the upload. */
  promoteState(
    tx: Tx,
    context: Context,
    workspace: Granted<WorkspaceWithState, UnlockPermission | "run-transition">,
    holderId: string | null,
  ): Promise<CurrentStateColumns | undefined>;
  /** On force-unlock, and at the end of a lease or a run. */
  discardPending(
    tx: Tx,
    context: Context,
    workspace: Granted<WorkspaceWithState, "can-force-unlock" | "lease-ended" | "run-transition">,
  ): Promise<void>;
}

export interface EngineOffers {
  readonly versions: readonly string[];
  /** Whether an agent fetches versions that it lacks. */
  readonly isAnyFetched: boolean;
  /** Read by the same statement. */
  readonly versionsFingerprint: string;
}

/** The pool whose agents execute a workspace's runs: null for the site's. */
export type ExecutingPool = { readonly organizationId: string; readonly agentPoolId: string } | null;

export interface RunHooks {
  /** What the agents of a pool can execute. */
  engineOffers(tx: Tx, engine: string, pool: ExecutingPool): Promise<EngineOffers>;
  /** Undefined if no run is queued. `state`: the new current state. */
  startNextRun(
    tx: Tx,
    context: Context,
    workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId" | "currentRunStatus">, UnlockPermission>,
    state: CurrentStateColumns | undefined,
  ): Promise<Partial<WorkspaceTable> | undefined>;
  /** Oldest first. */
  listUnfinished(
    tx: Tx,
    workspace: { readonly id: string; readonly organizationId: string },
  ): Promise<readonly string[]>;
  /** Records the end of its unfinished runs; agents stop when their next report is refused. */
  auditRunsOfDeletedWorkspace(
    tx: Tx,
    context: Context,
    workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
  ): Promise<void>;
}

/** A change of access as access rules see it. */
export interface RuledChange {
  readonly action:
    | "grant"
    | "update"
    | "revoke"
    | "addMember"
    | "removeMember"
    | "updateTeam"
    | "moveWorkspace"
    | "createToken";
  /** The team for its members, organization access and tokens; the organization for its token; the target project for a move. */
  readonly resource: { readonly type: "organizations" | "teams" | "projects" | "workspaces"; readonly id: string };
  readonly teamId?: string;
  readonly userId?: string;
  readonly access?: string;
  /** Newly given, spelled as on the wire. */
  readonly permissions: readonly string[];
  readonly expiresAt?: string | null;
  readonly reason?: string | null;
}

export interface RuleMatch {
  readonly rule: { readonly id: string; readonly name: string; readonly enforcement: "forbid" | "approval" | "advise" };
  /** The policy's `@message`, else the rule's name. */
  readonly message: string;
}

/** Whether the match refuses a change. */
export const isRefusal = ({ rule: { enforcement } }: RuleMatch, isApproved: boolean): boolean =>
  enforcement === "forbid" || (enforcement === "approval" && !isApproved);

/** Loaded by the statement that locks the change's subject, so that an organization without rules costs no statement more. */
export interface RuledOrganization {
  readonly organizationId: string;
  readonly enabledRuleCount: number;
}

export interface AccessRuleHooks {
  /** Call after the permission checks and before the first write. Throws `forbidden` if a rule refuses a change. */
  enforceRules(
    tx: Tx,
    context: Pick<Context, "actor" | "accessRules" | "warn">,
    organization: RuledOrganization,
    changes: readonly RuledChange[],
  ): Promise<void>;
  /** The rules that match each change; for callers that skip what a rule refuses. */
  matchRules(
    tx: Tx,
    context: Pick<Context, "actor" | "accessRules">,
    organization: RuledOrganization,
    changes: readonly RuledChange[],
  ): Promise<readonly (readonly RuleMatch[])[]>;
}

export type AccessRequestEvent = "created" | "decided" | "break-glass";

/** What notifications say about an access request. */
export interface NotifiedRequest {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly requesterId: string;
  readonly status: string;
  readonly reason: string;
  readonly durationSeconds: number | null;
  readonly createdAt: string;
  readonly lapsesAt: string;
  readonly decidedAt: string | null;
  readonly decidedById: string | null;
  readonly decisionComment: string | null;
  readonly offerId: string | null;
}

export interface OfferOfRequest {
  readonly name: string;
  readonly isEnabled: boolean;
  /** Who last wrote the offer, with its present access; undefined if its account or team was deleted. */
  readonly writer: Actor | undefined;
}

export interface AccessRequestHooks {
  /** Called in the transaction of the event; must not call other systems. */
  notifyAccessRequest(tx: Tx, context: Context, event: AccessRequestEvent, request: NotifiedRequest): Promise<void>;
  /** Undefined if it was deleted. */
  findOfferOfRequest(tx: Tx, offerId: string): Promise<OfferOfRequest | undefined>;
}

export interface AccessViolationHooks {
  /** Call in the transaction of each change of a rule. */
  requestViolationScan(
    tx: Tx,
    context: Pick<Context, "wake">,
    by: Granted<object, "can-update">,
    organizationId: string,
  ): Promise<void>;
}

export interface Hooks {
  readonly accessRequests: AccessRequestHooks;
  readonly accessRules: AccessRuleHooks;
  readonly accessViolations: AccessViolationHooks;
  readonly organizations: OrganizationHooks;
  readonly scopes: ScopeHooks;
  readonly agentTokens: AgentTokenHooks;
  readonly repositories: RepositoryHooks;
  readonly states: StateHooks;
  readonly runs: RunHooks;
  readonly loaders: ReadonlyMap<string, IncludeLoader>;
}
