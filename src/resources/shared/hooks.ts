/**
 * Hooks between modules: what a module does when a module that it imports creates, deletes or unlocks something.
 * `resources/index.ts` connects them. Every hook runs in the caller's transaction.
 */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";
import type { Tx } from "../../database/database.ts";
import type { OrganizationTable, ShownToken } from "../../database/schema/identity.ts";
import type { WorkspaceTable } from "../../database/schema/workspaces.ts";
import type { Context } from "./context.ts";
import type { IncludeLoader } from "./includes.ts";

/** The columns that a workspace takes from its new current state version. */
export type CurrentStateColumns = Pick<
  WorkspaceTable,
  "currentStateVersionId" | "resourceCount" | "stateEncrypted" | "outputIds"
>;
/** The permission by which a workspace is unlocked; `lease-ended`: none, the lock's lease has expired. */
export type UnlockPermission = "can-unlock" | "can-force-unlock" | "lease-ended";
type WorkspaceWithState = Pick<WorkspaceTable, "id" | "organizationId" | "currentStateVersionId">;

/** What wants to use a pool or connection: a workspace or, without `workspaceId`, a project on behalf of its future workspaces. */
export interface ScopeTarget {
  readonly organizationId: string;
  readonly projectId: string;
  readonly workspaceId?: string;
}

/** An agent pool's token, in the form in which all tokens are shown. */
export interface AgentPoolToken extends ShownToken {
  readonly organizationName: string | null;
  readonly agentPoolId: string;
}
type ManagedAgentToken = Granted<AgentPoolToken, "can-update-agent-pools">;

export type ConnectedWorkspace = Pick<WorkspaceTable, "id" | "organizationId" | "vcsBranch"> & {
  readonly vcsIdentifier: string;
};

/** The jobs that fetch the content of a newly connected workspace, and create the provider's webhook for pushes. */
export const repositoryJobs: readonly string[] = ["vcs-events", "vcs-webhooks"];

export interface OrganizationHooks {
  /** Creates the organization's token policies, default project and owners team; the user who creates it is the first owner. */
  initializeOrganization(
    tx: Tx,
    by: Capability<"new-organization">,
    organization: OrganizationTable,
    creatorId: string | undefined,
  ): Promise<void>;
  /** Runs before a team and its records are deleted. */
  uncountTeam(tx: Tx, team: Granted<{ readonly id: string }, "can-destroy">): Promise<void>;
  /** Runs before invitations are merged into memberships that the user has in the same organizations, and deleted. */
  mergeInvitedRecipients(tx: Tx, userId: string, invitationIds: readonly string[]): Promise<void>;
}

/** Which projects and workspaces can use an agent pool or a connection. */
export interface ScopeHooks {
  /** Also true without a pool, and for a pool that does not exist, which is reported elsewhere. */
  agentPoolServes(tx: Tx, target: ScopeTarget, agentPoolId: string | null | undefined): Promise<boolean>;
  /** The same for the connection of an OAuth token. */
  oauthTokenServes(tx: Tx, target: ScopeTarget, oauthTokenId: string | null | undefined): Promise<boolean>;
  /** Removes a deleted workspace or project from all scopes. */
  removeScopeTarget(
    tx: Tx,
    target: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
  ): Promise<void>;
}

export interface AgentTokenHooks {
  /** Loads an agent pool's token. Raises `not-found` if the caller can't manage it. */
  loadAgentToken(tx: Tx, context: Context, id: string): Promise<ManagedAgentToken>;
  revokeAgentToken(tx: Tx, context: Context, token: ManagedAgentToken): Promise<void>;
}

export interface RepositoryHooks {
  /** Schedules the first fetch for a workspace that was connected to a repository or to another branch. */
  recordConnected(tx: Tx, workspace: Granted<ConnectedWorkspace, "can-update" | "can-create-workspace">): Promise<void>;
}

export interface StateHooks {
  /** Whether a workspace's state is still being uploaded or processed, so that nobody knows yet what it manages. */
  isStateProcessing(tx: Tx, workspaceId: string): Promise<boolean>;
  /**
   * On unlock, makes the lock holder's latest state the current one; of a run, only what its apply wrote. Raises `unavailable`
   * while that state is being uploaded.
   */
  settleState(
    tx: Tx,
    context: Context,
    workspace: Granted<WorkspaceWithState, UnlockPermission | "run-transition">,
    holderId: string | null,
  ): Promise<CurrentStateColumns | undefined>;
  /** On force-unlock, and at the end of a lease or a run: discards states that are still being uploaded. */
  discardPending(
    tx: Tx,
    context: Context,
    workspace: Granted<WorkspaceWithState, "can-force-unlock" | "lease-ended" | "run-transition">,
  ): Promise<void>;
}

export interface RunHooks {
  /**
   * On unlock, returns the changes to the workspace's row that start its next run; undefined if none is queued. `state`: the new
   * current state.
   */
  startNextRun(
    tx: Tx,
    context: Context,
    workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId" | "currentRunStatus">, UnlockPermission>,
    state: CurrentStateColumns | undefined,
  ): Promise<Partial<WorkspaceTable> | undefined>;
  /** The ids of a workspace's unfinished runs, oldest first. */
  listUnfinished(
    tx: Tx,
    workspace: { readonly id: string; readonly organizationId: string },
  ): Promise<readonly string[]>;
  /** Before a workspace is force-deleted: stops its execution, and records its runs in the audit log. */
  auditRunsOfDeletedWorkspace(
    tx: Tx,
    context: Context,
    workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
  ): Promise<void>;
}

export interface Hooks {
  readonly organizations: OrganizationHooks;
  readonly scopes: ScopeHooks;
  readonly agentTokens: AgentTokenHooks;
  readonly repositories: RepositoryHooks;
  readonly states: StateHooks;
  readonly runs: RunHooks;
  readonly loaders: ReadonlyMap<string, IncludeLoader>;
}
