/**
 * Imports run from the modules above to those below. Where something below is created, deleted or unlocked and a module above takes part,
 * the part is declared here and joined in `resources/index.ts`. Everything happens in the caller's transaction.
 */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";
import type { Tx } from "../../database/database.ts";
import type { OrganizationTable, ShownToken } from "../../database/schema/identity.ts";
import type { WorkspaceTable } from "../../database/schema/workspaces.ts";
import type { Context } from "./context.ts";
import type { Loader } from "./includes.ts";

/** What a workspace takes over from the state version that becomes its current one. */
export type SettledState = Pick<
  WorkspaceTable,
  "currentStateVersionId" | "resourceCount" | "stateEncrypted" | "outputIds"
>;
/** Who takes a lock off a workspace; `lease-ended`: nobody, its time is over. */
export type ReleasedBy = "can-unlock" | "can-force-unlock" | "lease-ended";
type StateHolder = Pick<WorkspaceTable, "id" | "organizationId" | "currentStateVersionId">;

/** Where something is taken: by a workspace or, without one, by a project for those that it will have. */
export interface TakingPlace {
  readonly organizationId: string;
  readonly projectId: string;
  readonly workspaceId?: string;
}

/** A token of a thing that the room of tokens does not know of, as all tokens are shown. */
export interface HeldToken extends ShownToken {
  readonly organizationName: string | null;
  readonly agentPoolId: string;
}
type ManagedToken = Granted<HeldToken, "can-update-agent-pools">;

/** A workspace with a repository, by an OAuth token. */
export type ConnectedWorkspace = Pick<WorkspaceTable, "id" | "organizationId" | "vcsBranch"> & {
  readonly vcsIdentifier: string;
};

/** The job that fetches what such a workspace begins with, and the one that lets its provider tell of pushes. */
export const jobsOfRepositories: readonly string[] = ["vcs-events", "vcs-webhooks"];

export interface OrganizationHooks {
  /** An organization begins with policies on tokens, a project and its owners; a person who creates it is the first. */
  created(
    tx: Tx,
    by: Capability<"new-organization">,
    organization: OrganizationTable,
    creatorId: string | undefined,
  ): Promise<void>;
  /** Before a team and its records are deleted. */
  beforeTeamDelete(tx: Tx, team: Granted<{ readonly id: string }, "can-destroy">): Promise<void>;
  /** Before invitations are merged into the memberships that their person has in the same organizations, and deleted. */
  beforeInvitationsMerge(tx: Tx, userId: string, invitationIds: readonly string[]): Promise<void>;
}

/** Which projects and workspaces may use an agent pool or a connection. */
export interface ScopeHooks {
  /** True also where no pool is named, and for one that does not exist: that is reported elsewhere. */
  agentPoolServes(tx: Tx, place: TakingPlace, agentPoolId: string | null | undefined): Promise<boolean>;
  /** The same for the connection that an OAuth token belongs to. */
  oauthTokenServes(tx: Tx, place: TakingPlace, oauthTokenId: string | null | undefined): Promise<boolean>;
  /** A workspace or a project was deleted, and no scope may name it any more. */
  forget(
    tx: Tx,
    place: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
  ): Promise<void>;
}

export interface AgentTokenHooks {
  /** A token of an agent pool, by its id. Raises `not-found` where the caller may not manage it. */
  load(tx: Tx, context: Context, id: string): Promise<ManagedToken>;
  revoke(tx: Tx, context: Context, token: ManagedToken): Promise<void>;
}

export interface RepositoryHooks {
  /** A workspace was connected to a repository, or to another branch of it: its content is fetched soon. */
  connected(tx: Tx, workspace: Granted<ConnectedWorkspace, "can-update" | "can-create-workspace">): Promise<void>;
}

export interface StateHooks {
  /** Whether a workspace's state is still being uploaded or read: until then nobody knows what it manages. */
  isProcessing(tx: Tx, workspaceId: string): Promise<boolean>;
  /**
   * At an unlock: the latest state that the holder of the lock wrote becomes the current one; of a run, only what its apply wrote. Raises
   * `unavailable` while it is awaited.
   */
  settle(
    tx: Tx,
    context: Context,
    workspace: Granted<StateHolder, ReleasedBy | "run-transition">,
    holderId: string | null,
  ): Promise<SettledState | undefined>;
  /** At an unlock by force, the end of a lease, and the end of a run: states that are still awaited are given up. */
  discardPending(
    tx: Tx,
    context: Context,
    workspace: Granted<StateHolder, "can-force-unlock" | "lease-ended" | "run-transition">,
  ): Promise<void>;
}

export interface RunHooks {
  /**
   * The workspace was unlocked: the changes to its row by which the next of its runs starts; undefined where none waits. `state` is
   * what becomes the current one with it.
   */
  workspaceUnlocked(
    tx: Tx,
    context: Context,
    workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId" | "currentRunStatus">, ReleasedBy>,
    state: SettledState | undefined,
  ): Promise<Partial<WorkspaceTable> | undefined>;
  /** The ids of a workspace's runs that have not ended, the oldest first. */
  listUnfinished(
    tx: Tx,
    workspace: { readonly id: string; readonly organizationId: string },
  ): Promise<readonly string[]>;
  /** Before a workspace is deleted by force: its execution is cut off, and the audit log names the runs. */
  beforeWorkspaceDelete(
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
  /** What can be included in documents, by type (`includes.ts`). */
  readonly loaders: ReadonlyMap<string, Loader>;
}
