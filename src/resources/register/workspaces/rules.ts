/** Pure rules of workspaces: what a creation or an update makes of a row, and what is wrong with it. */
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, conflict, type AppError, type Fault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { stored } from "../../shared/changes.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import { isExactVersion, isOlder } from "../../site/terraform-versions/versions.ts";
import { applyAutoDestroy, inheriting } from "./auto-destroy.ts";
import type { workspaces } from "./definition.ts";
import { agentPoolFaults, applyExecution, followingDefaults } from "./execution.ts";
import { sharingFaultsOf } from "./sharing.ts";
import type { References } from "./store.ts";
import { applyVcs, noRepository, vcsFaults } from "./vcs.ts";

type Created = CreateAttributes<typeof workspaces>;
type Changed = UpdateAttributes<typeof workspaces>;

export interface Identity {
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string;
  readonly createdAt: string;
}

/** A row before anything was sent. */
function blank(
  { id, organizationId, projectId, createdAt }: Identity,
  engineVersion: string,
  projectDuration: string | null,
): Omit<WorkspaceTable, "name" | "nameKey"> {
  return {
    id,
    organizationId,
    projectId,
    description: null,
    allowDestroyPlan: 1,
    assessmentsEnabled: 0,
    autoApply: 0,
    autoApplyRunTrigger: 0,
    ...inheriting(projectDuration),
    autoDestroyStatus: null,
    ...followingDefaults,
    fileTriggersEnabled: 1,
    triggerPrefixes: "[]",
    triggerPatterns: "[]",
    globalRemoteState: 0,
    projectRemoteState: 0,
    queueAllRuns: 0,
    speculativeEnabled: 1,
    structuredRunOutputEnabled: 1,
    source: "tfe-api",
    sourceName: null,
    sourceUrl: null,
    engineVersion,
    workingDirectory: null,
    ...noRepository,
    sshKeyId: null,
    lockedByType: null,
    lockedById: null,
    lockedByName: null,
    lockedReason: null,
    tagNames: "",
    resourceCount: 0,
    currentStateVersionId: null,
    currentRunId: null,
    currentRunStatus: null,
    currentRunCreatedAt: null,
    latestChangeAt: createdAt,
    createdAt,
    updatedAt: createdAt,
    version: 1,
    outputIds: "",
    varIds: "",
  };
}

export interface NewWorkspaceFacts {
  readonly identity: Identity;
  readonly newestEngine: string;
  readonly projectDuration: string | null;
  readonly options: ServiceOptions;
  readonly source?: string | undefined;
}

export function newWorkspace(
  attributes: Created,
  { identity, newestEngine, projectDuration, options, source = "tfe-api" }: NewWorkspaceFacts,
): WorkspaceTable {
  const shared = options.edition === "self-hosted" && options.globalRemoteStateDefault;
  const base = {
    ...blank(identity, newestEngine, projectDuration),
    globalRemoteState: Number(shared),
    source,
    sourceName: attributes.sourceName ?? null,
    sourceUrl: attributes.sourceUrl ?? null,
    name: attributes.name,
    nameKey: fold(attributes.name),
  };
  return { ...base, ...changedColumns(base, attributes, projectDuration, options) };
}

/** The columns of a row after an update; absent keys keep what was before. */
export function changedColumns(
  before: WorkspaceTable,
  attributes: Changed,
  projectDuration: string | null,
  options: ServiceOptions,
): WorkspaceTable {
  const kept = <Key extends keyof WorkspaceTable>(value: WorkspaceTable[Key] | undefined, key: Key) =>
    value === undefined ? before[key] : value;
  const listed = (value: readonly string[] | undefined, key: "triggerPrefixes" | "triggerPatterns") =>
    value === undefined ? before[key] : JSON.stringify(value);
  const name = kept(attributes.name, "name");
  const assessments = options.edition === "hosted" ? stored(attributes.assessmentsEnabled) : undefined;
  return {
    ...before,
    name,
    nameKey: fold(name),
    description: kept(attributes.description, "description"),
    allowDestroyPlan: kept(stored(attributes.allowDestroyPlan), "allowDestroyPlan"),
    assessmentsEnabled: kept(assessments, "assessmentsEnabled"),
    autoApply: kept(stored(attributes.autoApply), "autoApply"),
    autoApplyRunTrigger: kept(stored(attributes.autoApplyRunTrigger), "autoApplyRunTrigger"),
    fileTriggersEnabled: kept(stored(attributes.fileTriggersEnabled), "fileTriggersEnabled"),
    triggerPrefixes: listed(attributes.triggerPrefixes, "triggerPrefixes"),
    triggerPatterns: listed(attributes.triggerPatterns, "triggerPatterns"),
    globalRemoteState: kept(stored(attributes.globalRemoteState), "globalRemoteState"),
    projectRemoteState: kept(stored(attributes.projectRemoteState), "projectRemoteState"),
    queueAllRuns: kept(stored(attributes.queueAllRuns), "queueAllRuns"),
    speculativeEnabled: kept(stored(attributes.speculativeEnabled), "speculativeEnabled"),
    structuredRunOutputEnabled: kept(stored(attributes.structuredRunOutputEnabled), "structuredRunOutputEnabled"),
    engineVersion: kept(attributes.engineVersion, "engineVersion"),
    workingDirectory: kept(attributes.workingDirectory === "" ? null : attributes.workingDirectory, "workingDirectory"),
    ...applyAutoDestroy(before, attributes, projectDuration),
    ...applyExecution(before, attributes),
    ...applyVcs(before, attributes.vcsRepo),
  };
}

/** What the request alone, applied to the row, shows to be wrong. */
export function workspaceFaults(
  attributes: Changed,
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

/** Assessments need a recent engine and remote execution when they are switched on; what is changed later stops them alone. */
function assessmentFaults(
  attributes: Changed,
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

/** What is to be looked up in the register after a change. */
export function referencesOf(before: WorkspaceTable | undefined, after: WorkspaceTable): References {
  const changed = <Key extends keyof WorkspaceTable>(key: Key) =>
    before?.[key] === after[key] ? undefined : after[key];
  return { name: changed("name"), agentPoolId: changed("agentPoolId"), oauthTokenId: changed("vcsOauthTokenId") };
}

export function referenceFaults(
  wanted: References,
  found: { nameTaken: boolean; agentPool: boolean; oauthToken: boolean },
): Fault[] {
  const faults: Fault[] = [];
  if (wanted.name !== undefined && found.nameTaken) faults.push(attributeFault("name", "Name has already been taken"));
  if (wanted.agentPoolId && !found.agentPool)
    faults.push(attributeFault("agent-pool-id", "Agent pool does not exist in this organization"));
  if (wanted.oauthTokenId && !found.oauthToken)
    faults.push(attributeFault("vcs-repo.oauth-token-id", "Oauth token does not exist in this organization"));
  return faults;
}

/** Why a workspace can't be deleted safely, if it can't. */
export function safeDeleteObstacle(
  workspace: Pick<WorkspaceTable, "lockedByType" | "resourceCount">,
  stateIsProcessing: boolean,
): AppError | undefined {
  if (workspace.lockedByType !== null)
    return conflict("Unable to delete workspace. The workspace is locked; unlock it first.");
  if (stateIsProcessing)
    return conflict("Unable to delete workspace. Its latest state is still being processed; try again shortly.");
  if (workspace.resourceCount === 0) return undefined;
  return conflict(
    `Unable to delete workspace. The workspace manages ${workspace.resourceCount} resources; destroy them first, or force the deletion.`,
  );
}
