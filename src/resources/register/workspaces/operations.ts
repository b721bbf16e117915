/** Operations on workspaces: load → authorize → decide → write. */
import { type Granted, withProofOf } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { pipelined } from "../../../database/pipelined.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { IncludedResource, UpdateAttributes } from "../../../jsonapi/define.ts";
import { type Fault, throwIfInvalid, relationshipFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { refuseWorkspacesBeyondLimit } from "../../identity/organizations/reads.ts";
import { type ExtraAuditAttributes, recordChange } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type ConditionalContext, type Context, implement } from "../../shared/context.ts";
import { loadProjectToMoveInto } from "../projects/reads.ts";
import { adjustWorkspaceCount, moveWorkspaceCounts } from "../projects/writes.ts";
import { repositoryJobs, type ScopeTarget } from "../../shared/hooks.ts";
import { changesWithin, loadIncluded } from "../../shared/includes.ts";
import { effectiveTagBindings } from "../tag-bindings/definition.ts";
import { effectiveOnWorkspaces } from "../tag-bindings/reads.ts";
import { replaceBindings } from "../tag-bindings/writes.ts";
import { lockTagsOfWorkspace, recountReleasedTags, tagNewWorkspace } from "../tags/writes.ts";
import { autoDestroyAfterMove, retainedDuration } from "./auto-destroy.ts";
import { workspaces } from "./definition.ts";
import { defaultEngineVersion, likelyEngineOffers } from "./engine-version.ts";
import { leaseFromBody } from "./lock-holder.ts";
import { listReadableWorkspaces, loadOrganizationToList } from "./list.ts";
import { assignSshKey, forceUnlock, lock, renewLock, unlock } from "./lock.ts";
import { loadProjectForNewWorkspace } from "./new-workspace.ts";
import { authorizeWorkspace, loadWorkspaceAfterLeaseExpiry, loadWorkspace } from "./reads.ts";
import {
  changedWorkspace,
  newWorkspace,
  referenceFaults,
  referencesOf,
  referencesOfNew,
  safeDeleteObstacle,
  scopeFaultsOf,
  workspaceFaults,
} from "./rules.ts";
import {
  deleteWorkspaceRow,
  insertWorkspace,
  lookUpReferences,
  newWorkspaceView,
  type ReferenceLookup,
  updateWorkspaceRow,
  type WorkspaceReference,
} from "./store.ts";
import type { VcsColumns } from "./vcs.ts";
import { ruledMove } from "./ruled-move.ts";
import { agentPoolOf, executionModeOf, type WorkspaceView } from "./view.ts";
import { workspaceValidator } from "./cache-validator.ts";

export const workspaceResource = implement(workspaces, {
  async createWorkspace({ context, params, body }) {
    return writeAndWakeJobs(context, async (tx) => {
      const { attributes, relationships } = body;
      const { options, source } = context;
      const references = referencesOfNew(attributes);
      const place = { organizationName: params.organizationName, projectId: relationships.project ?? undefined };
      const [{ project, found }, siteOffers] = await pipelined([
        loadProjectForNewWorkspace(tx, context, place, references),
        likelyEngineOffers(tx, context, attributes),
      ]);
      const identity = {
        id: newId("workspaces"),
        organizationId: project.organizationId,
        projectId: project.id,
        createdAt: now(),
      };
      const projectDuration = project.autoDestroyActivityDuration;
      const row = newWorkspace(attributes, { identity, newestEngine: "", projectDuration, options, source });
      const { organizationId, engine, executionMode, overwritesExecutionMode, overwritesAgentPool, agentPoolId } = row;
      const execution = {
        organizationId,
        engine,
        executionMode,
        overwritesExecutionMode,
        overwritesAgentPool,
        agentPoolId,
        projectExecutionMode: project.defaultExecutionMode,
        projectAgentPoolId: project.defaultAgentPoolId,
        defaultExecutionMode: project.organizationExecutionMode,
        defaultAgentPoolId: project.organizationAgentPoolId,
      };
      // The version depends on the mode, which follows from the other attributes.
      row.engineVersion ||= await defaultEngineVersion(tx, context, execution, siteOffers);
      throwIfInvalid([
        ...workspaceFaults(attributes, row, executionModeOf(execution), options),
        ...referenceFaults(references, found),
        ...(await scopeFaults(tx, context, identity, references)),
      ]);
      const { tags = [], tagBindings } = relationships;
      if (row.vcsOauthTokenId === null && tags.length === 0 && !tagBindings?.length) {
        const view = newWorkspaceView(row, project, options);
        const last = tx.withCommit ?? tx;
        await insertWorkspace(last, project, row);
        await adjustWorkspaceCount(last, project, project.id, 1);
        await recordWorkspaceChange(last, context, { after: view });
        await refuseWorkspacesBeyondLimit(tx, project);
        return { view, isConnected: false };
      }
      const workspace = await insertWorkspace(tx, project, row);
      // Lock order: the project before connections and tags.
      await adjustWorkspaceCount(tx, project, project.id, 1);
      const isConnected = await notifyRepositoryChange(tx, context, workspace, undefined, row);
      await tagNewWorkspace(tx, workspace, tags);
      const bindings = await replaceBindings(tx, { workspace }, tagBindings);
      await refuseWorkspacesBeyondLimit(tx, project);
      const view = await loadWorkspace(tx, context, { workspaceId: row.id });
      await recordWorkspaceChange(tx, context, { after: view }, bindings);
      return { view, isConnected };
    });
  },

  async listWorkspaces({ context, params, query }) {
    const tx = context.database.reader;
    const organizationWithCounts = await loadOrganizationToList(tx, context, params.organizationName);
    const { filterLockedLongerThan: lockedMs } = query;
    const { views, totalCount } = await listReadableWorkspaces(tx, context, organizationWithCounts, {
      page: query.page,
      sort: query.sort,
      nameText: query.searchName,
      wildcard: query.searchWildcardName,
      tags: query.searchTags ?? [],
      excludedTags: query.searchExcludeTags ?? [],
      ids: query.filterId,
      projectId: query.filterProjectId,
      runStatuses: query.filterCurrentRunStatus ?? [],
      tagFilters: query.filterTagged,
      lockedBefore: lockedMs === undefined ? undefined : new Date(nowMs() - lockedMs).toISOString(),
    });
    const shown = await loadRelated(tx, context, views, query.include);
    const changesWith = changesWithin(organizationWithCounts.organization.id, query.include);
    // The result changes with the clock, so the response can't be cached.
    return { ...shown, totalCount, changesWith, ...(lockedMs !== undefined && { until: 0 }) };
  },

  showWorkspace: ({ context, params, query }) => show(context, params, query.include),
  showWorkspaceByName: ({ context, params, query }) => show(context, params, query.include),

  updateWorkspace: ({ context, params, body }) => update(context, params, body),
  updateWorkspaceByName: ({ context, params, body }) => update(context, params, body),

  safeDeleteWorkspace: ({ context, params }) => safeDelete(context, params),
  safeDeleteWorkspaceByName: ({ context, params }) => safeDelete(context, params),

  deleteWorkspace: ({ context, params }) => forceDelete(context, params),
  deleteWorkspaceByName: ({ context, params }) => forceDelete(context, params),

  lockWorkspace: ({ context, params, body }) => {
    const attributes = body?.data?.attributes;
    return lock(context, params, { reason: body?.reason ?? attributes?.reason ?? "", lease: leaseFromBody(body) });
  },
  renewWorkspaceLock: ({ context, params, body }) => renewLock(context, params, leaseFromBody(body)),
  unlockWorkspace: ({ context, params }) => unlock(context, params),
  forceUnlockWorkspace: ({ context, params }) => forceUnlock(context, params),
  assignSshKey: ({ context, params, body }) => assignSshKey(context, params, body.data.attributes.id),
});

async function show(context: Context, reference: WorkspaceReference, include: ReadonlySet<string>) {
  const tx = context.database.reader;
  const view = await loadWorkspaceAfterLeaseExpiry(context, reference);
  const { views, included } = await loadRelated(tx, context, [view], include);
  const shown = views[0] as WorkspaceView;
  if (include.size > 0) return { view: shown, included };
  const changesWith = view.organizationId;
  // What a run can read also depends on sharing, which the validator does not cover.
  return context.actor.kind === "run"
    ? { view: shown, changesWith }
    : { view: shown, changesWith, validator: workspaceValidator(tx, reference, view) };
}

async function loadRelated(tx: Tx, context: Context, loaded: readonly WorkspaceView[], include: ReadonlySet<string>) {
  const { views, bindings } = await withBindings(tx, loaded, include);
  const others = await loadIncluded(tx, context, workspaces, views, include, canIncludeWithWorkspace);
  return { views, included: others && [...others, ...bindings] };
}

/** A run of another workspace sees only the state that this workspace shares. */
const isReadable = (view: WorkspaceView): boolean => workspacePermissions(view)["can-read-run"];

const canIncludeWithWorkspace = (view: WorkspaceView, name: string): boolean =>
  name !== "effective_tag_bindings" && (name === "outputs" || name === "current_state_version" || isReadable(view));

async function withBindings(
  tx: Tx,
  views: readonly WorkspaceView[],
  include: ReadonlySet<string>,
): Promise<{ views: readonly WorkspaceView[]; bindings: IncludedResource[] }> {
  if (!include.has("effective_tag_bindings")) return { views, bindings: [] };
  const readableIds = views.filter(isReadable).map(({ id }) => id);
  const bindings = await effectiveOnWorkspaces(tx, readableIds);
  const idsOf = ({ id }: WorkspaceView) =>
    bindings.filter(({ ownerId }) => ownerId === id).map((binding) => binding.id);
  return {
    views: views.map((view) => ({ ...view, effectiveTagBindingIds: idsOf(view) })),
    bindings: bindings.map((view) => ({ definition: effectiveTagBindings, view })),
  };
}

interface WorkspaceUpdateBody {
  readonly attributes: UpdateAttributes<typeof workspaces>;
  readonly relationships: {
    readonly project?: string | null;
    readonly tagBindings?: readonly {
      readonly attributes: { readonly key: string; readonly value?: string | undefined };
    }[];
  };
}

async function update(
  context: ConditionalContext,
  reference: WorkspaceReference,
  { attributes, relationships }: WorkspaceUpdateBody,
) {
  return writeAndWakeJobs(context, async (tx) => {
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, reference, "change"), "can-update");
    context.ifMatch.check(workspace);
    const { destination, faults } = await destinationOf(tx, context, workspace, relationships.project ?? undefined);
    const projectDuration =
      destination === undefined ? workspace.projectDuration : destination.autoDestroyActivityDuration;
    const moved =
      destination === undefined
        ? workspace
        : { ...workspace, projectId: destination.id, ...autoDestroyAfterMove(projectDuration, workspace) };
    const after = changedWorkspace(moved, attributes, projectDuration, context.options);
    const references = referencesOf(workspace, after);
    const { projectExecutionMode, defaultExecutionMode } = workspace;
    const mode = executionModeOf({
      ...after,
      projectExecutionMode: destination === undefined ? projectExecutionMode : destination.defaultExecutionMode,
      defaultExecutionMode,
    });
    throwIfInvalid([
      ...faults,
      ...workspaceFaults(attributes, after, mode, context.options),
      ...referenceFaults(references, await lookUpReferences(tx, workspace.organizationId, references)),
      ...(await scopeFaults(tx, context, { ...after, workspaceId: workspace.id }, references)),
    ]);
    if (destination !== undefined) {
      const { organizationId, enabledRuleCount = 0 } = workspace;
      const organization = { organizationId, enabledRuleCount };
      await context.hooks.accessRules.enforceRules(tx, context, organization, [ruledMove(destination.id)]);
    }
    const changes = changesOf<WorkspaceView>(workspace, after);
    const write = (changed: Partial<WorkspaceView>) =>
      updateWorkspaceRow(tx, workspace, { ...changed, updatedAt: now() });
    // Lock order: rows that the workspace refers to, then rows that belong to it.
    if (changes !== undefined) await write({ ...changes, ...retainedDuration(workspace, after) });
    const bindingChanges = await replaceBindings(tx, { workspace }, relationships.tagBindings);
    if (changes === undefined && bindingChanges === undefined) return { view: workspace, isConnected: false };
    const isConnected = await notifyRepositoryChange(tx, context, workspace, workspace, after);
    if (changes === undefined) await write({});
    if (destination !== undefined)
      await moveWorkspaceCounts(tx, workspace, [{ from: workspace.projectId, to: destination.id, count: 1 }]);
    const view: WorkspaceView = await loadWorkspace(tx, context, { workspaceId: workspace.id });
    await recordWorkspaceChange(tx, context, { before: workspace, after: view }, bindingChanges);
    return { view, isConnected };
  });
}

/** Wakes jobs only after the commit: before, they would find nothing. */
async function writeAndWakeJobs(
  context: Context,
  write: (tx: Tx) => Promise<{ readonly view: WorkspaceView; readonly isConnected: boolean }>,
): Promise<{ view: WorkspaceView }> {
  const { view, isConnected } = await context.database.write(write);
  if (isConnected) for (const job of repositoryJobs) context.wake?.(job);
  return { view };
}

type ConnectingWorkspace = Granted<Pick<WorkspaceView, "id">, "can-update" | "can-create-workspace">;

/** Returns whether the repository or branch changed. */
async function notifyRepositoryChange(
  tx: Tx,
  { hooks }: Context,
  workspace: ConnectingWorkspace,
  before: VcsColumns | undefined,
  after: VcsColumns & { readonly organizationId: string },
): Promise<boolean> {
  const { vcsIdentifier, vcsBranch, vcsOauthTokenId, organizationId } = after;
  const isSame =
    before?.vcsIdentifier === vcsIdentifier &&
    before.vcsBranch === vcsBranch &&
    before.vcsOauthTokenId === vcsOauthTokenId;
  if (vcsOauthTokenId === null || vcsIdentifier === null || isSame) return false;
  await hooks.repositories.recordConnected(
    tx,
    withProofOf(workspace, { ...workspace, organizationId, vcsIdentifier, vcsBranch }),
  );
  return true;
}

async function scopeFaults(
  tx: Tx,
  { hooks }: Context,
  scope: ScopeTarget,
  references: ReferenceLookup,
): Promise<Fault[]> {
  return scopeFaultsOf({
    agentPool: await hooks.scopes.agentPoolServes(tx, scope, references.agentPoolId),
    oauthToken: await hooks.scopes.oauthTokenServes(tx, scope, references.oauthTokenId),
  });
}

/** Undefined if the workspace stays. Throws `forbidden`. */
async function destinationOf(tx: Tx, context: Context, workspace: WorkspaceView, projectId: string | undefined) {
  if (projectId === undefined || projectId === workspace.projectId) return { destination: undefined, faults: [] };
  const destination = await loadProjectToMoveInto(tx, context, workspace, projectId);
  const faults: Fault[] =
    destination === undefined ? [relationshipFault("project", "Project does not exist in this organization")] : [];
  return { destination, faults };
}

async function safeDelete(context: Context, reference: WorkspaceReference): Promise<void> {
  await context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(
      await loadWorkspace(tx, context, reference, "exclusive"),
      "can-destroy",
      "hide",
    );
    const { hooks } = context;
    const obstacle = safeDeleteObstacle(workspace, {
      unfinishedRun: (await hooks.runs.listUnfinished(tx, workspace))[0],
      stateIsProcessing: await hooks.states.isStateProcessing(tx, workspace.id),
    });
    if (obstacle !== undefined) throw obstacle;
    await removeWorkspace(tx, context, workspace);
  });
}

async function forceDelete(context: ConditionalContext, reference: WorkspaceReference): Promise<void> {
  await context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, reference, "exclusive"), "can-force-delete");
    context.ifMatch.check(workspace);
    await context.hooks.runs.auditRunsOfDeletedWorkspace(tx, context, workspace);
    await removeWorkspace(tx, context, workspace);
  });
}

async function removeWorkspace(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, "can-destroy" | "can-force-delete">,
): Promise<void> {
  // Lock order: project, tags, then the rows that belong to the workspace.
  await adjustWorkspaceCount(tx, workspace, workspace.projectId, -1);
  await context.hooks.scopes.removeScopeTarget(tx, workspace);
  const tagIds = await lockTagsOfWorkspace(tx, workspace);
  await deleteWorkspaceRow(tx, workspace);
  await recountReleasedTags(tx, workspace.organizationId, tagIds);
  await recordWorkspaceChange(tx, context, { before: workspace });
}

async function recordWorkspaceChange(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  change: { readonly before?: WorkspaceView; readonly after?: WorkspaceView },
  extra: ExtraAuditAttributes = {},
): Promise<void> {
  const { before, after } = change;
  await recordChange(tx, context, workspaces, change, {
    before: before && { ...auditedRelationships(before), ...extra.before },
    after: after && { ...auditedRelationships(after), ...extra.after },
  });
}

function auditedRelationships(workspace: WorkspaceView): object {
  return { project: workspace.projectId, "agent-pool": agentPoolOf(workspace), "ssh-key": workspace.sshKeyId };
}
