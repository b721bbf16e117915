/**
 * Imports run from the rooms above to those below. Where a thing below begins, goes or is shown, and a room above has its
 * part in that, the part is declared here, carried out there (`neighbours.ts` of that room), and joined in `index.ts`. All of it
 * happens in the caller's transaction.
 */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";
import type { WorkspaceFacts } from "../../access/permissions.ts";
import type { Tx } from "../../database/database.ts";
import type { OrganizationTable, ShownToken } from "../../database/schema/identity.ts";
import type { WorkspaceTable } from "../../database/schema/workspaces.ts";
import type { Included } from "../../jsonapi/define.ts";
import type { Context } from "./context.ts";

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

/** A workspace that the caller may see, as far as its configuration is concerned. */
export type ConfiguredWorkspace = WorkspaceFacts &
  Pick<WorkspaceTable, "organizationId" | "currentConfigurationVersionId">;

/** A workspace with a repository, by an OAuth token. */
export type ConnectedWorkspace = Pick<WorkspaceTable, "id" | "organizationId" | "vcsBranch"> & {
  readonly vcsIdentifier: string;
};

/** The job that fetches what such a workspace begins with, and the one that lets its provider tell of pushes. */
export const jobsOfRepositories: readonly string[] = ["vcs-events", "vcs-webhooks"];

export interface Neighbours {
  /** An organization was made: it begins with a project. */
  organizationMade(tx: Tx, by: Capability<"new-organization">, organization: OrganizationTable): Promise<void>;
  /** The organization's default project, to show it beside it; nothing where the caller may not read it. */
  defaultProject(tx: Tx, context: Context, organization: { id: string; defaultProjectId: string }): Promise<Included[]>;
  /** Before invitations are joined with the memberships that their person has in the same organizations, and go. */
  invitationsJoined(tx: Tx, userId: string, invitationIds: readonly string[]): Promise<void>;
  /** Before a team and its records go. */
  teamLeaves(tx: Tx, team: Granted<{ readonly id: string }, "can-destroy">): Promise<void>;
  /** A workspace or a project went, and nothing may name it any more. */
  placeRemoved(
    tx: Tx,
    place: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
  ): Promise<void>;
  /** Whether an agent pool is for a place; true where none is named, and of one that is not there: that is told elsewhere. */
  agentPoolServes(tx: Tx, place: TakingPlace, agentPoolId: string | null | undefined): Promise<boolean>;
  /** The same of the connection that an OAuth token belongs to. */
  oauthTokenServes(tx: Tx, place: TakingPlace, oauthTokenId: string | null | undefined): Promise<boolean>;
  /** A workspace was connected to a repository, or to another branch of it: what is there is fetched soon. */
  repositoryConnected(
    tx: Tx,
    workspace: Granted<ConnectedWorkspace, "can-update" | "can-create-workspace">,
  ): Promise<void>;
  /** A token of an agent pool, by its id. Raises `not-found` where the caller may not manage it. */
  loadAgentToken(tx: Tx, context: Context, id: string): Promise<ManagedToken>;
  revokeAgentToken(tx: Tx, context: Context, token: ManagedToken): Promise<void>;
  /** Whether a workspace's state is still being sent or read: until then nobody knows what it manages. */
  isStateProcessing(tx: Tx, workspaceId: string): Promise<boolean>;
  /**
   * At an unlock: the latest state that the holder of the lock wrote becomes the current one; of a run, only what its apply wrote. Raises
   * `unavailable` while it is awaited.
   */
  settleState(
    tx: Tx,
    context: Context,
    workspace: Granted<StateHolder, ReleasedBy | "can-move-run">,
    holderId: string | null,
  ): Promise<SettledState | undefined>;
  /** At an unlock by force, the end of a lease, and the end of a run: states that are still awaited are given up. */
  discardPendingStates(
    tx: Tx,
    context: Context,
    workspace: Granted<StateHolder, "can-force-unlock" | "lease-ended" | "can-move-run">,
  ): Promise<void>;
  /**
   * Whoever held a workspace's lock lets it go: whose turn it is among its runs, told as what its row is to hold; undefined where
   * nobody waits. `state` is what becomes the current one with it.
   */
  workspaceReleased(
    tx: Tx,
    context: Context,
    workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId" | "currentRunStatus">, ReleasedBy>,
    state: SettledState | undefined,
  ): Promise<Partial<WorkspaceTable> | undefined>;
  /** The ids of a workspace's runs that have not ended, the oldest first. */
  livingRuns(tx: Tx, workspace: { readonly id: string; readonly organizationId: string }): Promise<readonly string[]>;
  /** Before a workspace goes by force: what it executes is cut off, and the trail tells which runs that were. */
  workspaceLeaves(
    tx: Tx,
    context: Context,
    workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
  ): Promise<void>;
  /** Runs that the caller may read, with what else is asked for of them (`plan`, `created_by`, `configuration_version` …). */
  runsOf(tx: Tx, context: Context, ids: readonly string[], beside: ReadonlySet<string>): Promise<Included[]>;
  /** State versions by their ids, those that the caller may read. */
  statesOf(tx: Tx, context: Context, ids: readonly string[]): Promise<Included[]>;
  /** The outputs of workspaces' states that the caller may read. */
  outputsOf(tx: Tx, context: Context, organizationId: string, stateVersionIds: readonly string[]): Promise<Included[]>;
  /** The current configurations of workspaces; with the commits that they come from, where those are asked for. */
  configurationsOf(tx: Tx, workspaces: readonly ConfiguredWorkspace[], withCommits: boolean): Promise<Included[]>;
  /** The readmes of configurations that the caller may read. */
  readmesOf(tx: Tx, context: Pick<Context, "vault">, configurationVersionIds: readonly string[]): Promise<Included[]>;
}
