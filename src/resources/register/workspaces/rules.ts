/** Pure rules of workspaces: the row after a creation or an update, and its validation. */
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, conflict, type AppError, type Fault } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import { isExactVersion, isOlder } from "../../site/terraform-versions/versions.ts";
import {
  autoDestroyAfter,
  type AutoDestroyColumns,
  inheritedAutoDestroy,
  autoDestroyStatusAfter,
} from "./auto-destroy.ts";
import { workspaces } from "./definition.ts";
import { agentPoolFaults, executionAfter, type ExecutionColumns, inheritedExecution } from "../execution.ts";
import { unlocked } from "./lock-holder.ts";
import { sharingFaultsOf } from "./sharing.ts";
import type { ReferenceLookup } from "./store.ts";
import { vcsAfter, noRepository, type VcsColumns, vcsFaults } from "./vcs.ts";

type NewWorkspaceAttributes = CreateAttributes<typeof workspaces>;
type WorkspaceChanges = UpdateAttributes<typeof workspaces>;

export interface WorkspaceIdentity {
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string;
  readonly createdAt: string;
}

const initialColumns = {
  autoDestroyStatus: null,
  sshKeyId: null,
  ...unlocked,
  tagNames: "",
  resourceCount: 0,
  stateEncrypted: 0,
  outputIds: "",
  varIds: "",
  currentStateVersionId: null,
  currentRunId: null,
  currentRunStatus: null,
  currentRunCreatedAt: null,
  currentConfigurationVersionId: null,
  readmeConfigurationVersionId: null,
  runsCount: 0,
  runFailures: 0,
  planDurationAverage: 0,
  applyDurationAverage: 0,
  currentAssessmentResultId: null,
  lastAssessmentResultAt: null,
  version: 1,
  factsVersion: 0,
} as const;

export interface NewWorkspaceInput {
  readonly identity: WorkspaceIdentity;
  readonly newestEngine: string;
  readonly projectDuration: string | null;
  readonly options: ServiceOptions;
  readonly source?: string | undefined;
}

export function newWorkspace(
  attributes: NewWorkspaceAttributes,
  { identity, newestEngine, projectDuration, options, source = "tfe-api" }: NewWorkspaceInput,
): WorkspaceTable {
  const isShared = options.edition === "self-hosted" && options.globalRemoteStateDefault;
  const defaults = { ...inheritedAutoDestroy(projectDuration), ...inheritedExecution, ...noRepository };
  return {
    ...initialColumns,
    ...createdColumns(workspaces, acceptedAttributes(attributes, options), {
      engineVersion: newestEngine,
      globalRemoteState: Number(isShared),
    }),
    ...settingsAfter(defaults, attributes, projectDuration),
    ...identity,
    source,
    updatedAt: identity.createdAt,
    latestChangeAt: identity.createdAt,
  };
}

export function changedWorkspace(
  before: WorkspaceTable,
  attributes: WorkspaceChanges,
  projectDuration: string | null,
  options: ServiceOptions,
): WorkspaceTable {
  return {
    ...before,
    ...changedColumns(workspaces, acceptedAttributes(attributes, options)),
    ...settingsAfter(before, attributes, projectDuration),
    ...autoDestroyStatusAfter(before, attributes),
  };
}

/** An empty working directory means the repository's root. */
function acceptedAttributes<Attributes extends WorkspaceChanges>(
  attributes: Attributes,
  { edition }: ServiceOptions,
): Attributes {
  return {
    ...clearOtherTriggers(attributes),
    ...attributes,
    ...(edition !== "hosted" && { assessmentsEnabled: undefined }),
    ...(attributes.workingDirectory === "" && { workingDirectory: null }),
  };
}

/** Sending one list, even an empty one, empties the other unless the request sends both. See docs/api.md#workspaces. */
function clearOtherTriggers({ triggerPrefixes, triggerPatterns }: WorkspaceChanges): WorkspaceChanges {
  return {
    ...(triggerPrefixes !== undefined && { triggerPatterns: [] }),
    ...(triggerPatterns !== undefined && { triggerPrefixes: [] }),
  };
}

function settingsAfter(
  before: AutoDestroyColumns & ExecutionColumns & VcsColumns,
  attributes: WorkspaceChanges,
  projectDuration: string | null,
): AutoDestroyColumns & ExecutionColumns & VcsColumns {
  return {
    ...autoDestroyAfter(before, attributes, projectDuration),
    ...executionAfter(before, attributes),
    ...vcsAfter(before, attributes.vcsRepo),
  };
}

export function workspaceFaults(
  attributes: WorkspaceChanges,
  after: WorkspaceTable,
  mode: string,
  options: ServiceOptions,
): Fault[] {
  return [
    ...agentPoolFaults(after),
    ...sharingFaultsOf(after),
    ...vcsFaults(attributes.vcsRepo, after),
    ...assessmentFaults(attributes, after, mode, options),
  ];
}

const assessmentsSince = "0.15.4";

/** Checked only when assessments are switched on; a later change of engine or execution mode stops them without an error. */
function assessmentFaults(
  attributes: WorkspaceChanges,
  after: WorkspaceTable,
  mode: string,
  { edition }: ServiceOptions,
): Fault[] {
  if (edition !== "hosted" || attributes.assessmentsEnabled !== true) return [];
  const faults: Fault[] = [];
  if (isExactVersion(after.engineVersion) && isOlder(after.engineVersion, assessmentsSince))
    faults.push(
      attributeFault("assessments-enabled", `Assessments enabled needs engine version ${assessmentsSince} or newer`),
    );
  if (mode !== "remote")
    faults.push(attributeFault("assessments-enabled", "Assessments enabled needs the execution mode 'remote'"));
  return faults;
}

export function referencesOf(before: WorkspaceTable | undefined, after: WorkspaceTable): ReferenceLookup {
  const changed = <Key extends keyof WorkspaceTable>(key: Key) =>
    before?.[key] === after[key] ? undefined : after[key];
  return { name: changed("name"), agentPoolId: changed("agentPoolId"), oauthTokenId: changed("vcsOauthTokenId") };
}

export const referencesOfNew = (attributes: NewWorkspaceAttributes): ReferenceLookup => ({
  name: attributes.name,
  agentPoolId: executionAfter(inheritedExecution, attributes).agentPoolId,
  oauthTokenId: vcsAfter(noRepository, attributes.vcsRepo).vcsOauthTokenId,
});

export function referenceFaults(
  references: ReferenceLookup,
  existing: { nameTaken: boolean; agentPool: boolean; oauthToken: boolean },
): Fault[] {
  const faults: Fault[] = [];
  if (references.name !== undefined && existing.nameTaken)
    faults.push(attributeFault("name", "Name has already been taken"));
  if (references.agentPoolId && !existing.agentPool)
    faults.push(attributeFault("agent-pool-id", "Agent pool does not exist in this organization"));
  if (references.oauthTokenId && !existing.oauthToken)
    faults.push(attributeFault("vcs-repo.oauth-token-id", "Oauth token does not exist in this organization"));
  return faults;
}

export function scopeFaultsOf(serving: { readonly agentPool: boolean; readonly oauthToken: boolean }): Fault[] {
  const faults: Fault[] = [];
  if (!serving.agentPool)
    faults.push(
      attributeFault(
        "agent-pool-id",
        "Agent pool does not serve this workspace; add the workspace or its project to the pool's scope, or use another pool",
      ),
    );
  if (!serving.oauthToken)
    faults.push(
      attributeFault(
        "vcs-repo.oauth-token-id",
        "Oauth token belongs to a connection that does not include this project; add the project to the connection, or use another token",
      ),
    );
  return faults;
}

export function safeDeleteObstacle(
  workspace: Pick<WorkspaceTable, "lockedByType" | "resourceCount" | "stateEncrypted">,
  {
    unfinishedRun,
    stateIsProcessing,
  }: { readonly unfinishedRun: string | undefined; readonly stateIsProcessing: boolean },
): AppError | undefined {
  if (unfinishedRun !== undefined)
    return conflict(
      `Unable to delete workspace. The workspace is ${workspace.lockedByType === "runs" ? "locked by" : "used by"} the run ${unfinishedRun}, which has not finished. Wait for the run, or cancel it.`,
    );
  if (workspace.lockedByType !== null)
    return conflict("Unable to delete workspace. The workspace is locked. Unlock it first.");
  if (stateIsProcessing)
    return conflict("Unable to delete workspace. Its latest state is still being processed. Try again shortly.");
  if (workspace.stateEncrypted === 1)
    return conflict(
      "Unable to delete workspace. The engine encrypted its state, so the service can't tell whether it still manages resources. Make sure that they are destroyed, then force-delete the workspace.",
    );
  if (workspace.resourceCount === 0) return undefined;
  return conflict(
    `Unable to delete workspace. The workspace manages ${counted(workspace.resourceCount, "resource")}. Destroy them first, or force-delete the workspace.`,
  );
}
