/** The loaded form of a workspace, and the attributes that are computed from it. */
import type { Access } from "../../../access/effective.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { activityDurationMs } from "../../../kernel/time.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import type { LockColumns } from "./lock-holder.ts";

export interface OrganizationSettings extends OrganizationFacts {
  readonly defaultExecutionMode: string;
  readonly defaultAgentPoolId: string | null;
  readonly organizationDefaultsVersion: number;
  readonly allowForceDeleteWorkspaces: number;
  readonly assessmentsEnforced: number;
}

export interface RelatedColumns {
  /** Null where the project uses the organization's default. */
  readonly projectExecutionMode: string | null;
  readonly projectAgentPoolId: string | null;
  readonly projectDuration: string | null;
  readonly projectDefaultsVersion: number;
  readonly oauthClientId: string | null;
  readonly oauthClientName: string | null;
  readonly serviceProvider: string | null;
  readonly httpUrl: string | null;
  readonly retentionId: string | null;
  readonly retentionKind: string | null;
}

/** `autoDestroyActivityDuration` is the effective value. */
export interface WorkspaceView extends WorkspaceTable, OrganizationSettings, RelatedColumns {
  readonly access: Access;
  readonly owner: boolean;
  readonly edition: ServiceOptions["edition"];
  readonly webhookUrl: string | null;
  /** Not in lists. */
  readonly enabledRuleCount?: number;
  /** Not in lists; see `cache-validator.ts`. */
  readonly organizationVersion?: number;
  readonly accessVersion?: number;
  /** Still on the row, with an expired lease; the other columns show the workspace as unlocked. */
  readonly expiredLock?: LockColumns | undefined;
  readonly effectiveTagBindingIds?: readonly string[];
}

/** Versions of everything that the document shows. Defaults count only where the workspace uses them. */
export function etagVersionsOf(workspace: WorkspaceView): readonly number[] {
  const usesDefaults = workspace.overwritesExecutionMode === 0;
  return [
    workspace.version,
    workspace.organizationFactsVersion,
    usesDefaults ? workspace.projectDefaultsVersion : 0,
    usesDefaults && workspace.projectExecutionMode === null ? workspace.organizationDefaultsVersion : 0,
    // An inherited duration has no version of its own, so its value stands in.
    workspace.inheritsProjectAutoDestroy === 1 && workspace.projectDuration !== null
      ? activityDurationMs(workspace.projectDuration)
      : 0,
  ];
}

export function executionModeOf(
  workspace: Pick<
    WorkspaceView,
    "executionMode" | "projectExecutionMode" | "defaultExecutionMode" | "overwritesExecutionMode"
  >,
): string {
  const own = workspace.overwritesExecutionMode === 1 ? workspace.executionMode : null;
  return own ?? workspace.projectExecutionMode ?? workspace.defaultExecutionMode;
}

/** The pool comes from the same level (workspace, project or organization) as the mode. */
export function agentPoolOf(
  workspace: Parameters<typeof executionModeOf>[0] &
    Pick<WorkspaceView, "overwritesAgentPool" | "agentPoolId" | "defaultAgentPoolId" | "projectAgentPoolId">,
): string | null {
  if (executionModeOf(workspace) !== "agent") return null;
  if (workspace.overwritesAgentPool === 1) return workspace.agentPoolId;
  return workspace.projectExecutionMode === null ? workspace.defaultAgentPoolId : workspace.projectAgentPoolId;
}

export function autoDestroyAtOf(
  workspace: Pick<
    WorkspaceTable,
    "autoDestroyAt" | "autoDestroyActivityDuration" | "createdAt" | "latestChangeAt" | "currentRunCreatedAt"
  >,
): string | null {
  const { autoDestroyActivityDuration: duration } = workspace;
  if (duration === null) return workspace.autoDestroyAt;
  const activities = [workspace.createdAt, workspace.latestChangeAt, workspace.currentRunCreatedAt ?? ""];
  const latest = activities.toSorted().at(-1) ?? workspace.createdAt;
  return new Date(Date.parse(latest) + activityDurationMs(duration)).toISOString();
}

export function autoDestroyStatusOf(workspace: WorkspaceTable): string | null {
  return workspace.autoDestroyStatus ?? (autoDestroyAtOf(workspace) === null ? null : "scheduled");
}

/** One URL serves all repositories of a connection: each delivery names its repository. */
export const webhookUrlOf = ({ publicUrl }: Pick<ServiceOptions, "publicUrl">, oauthClientId: string): string =>
  `${publicUrl}/webhooks/vcs/${oauthClientId}`;

export function vcsRepoOf(workspace: WorkspaceView): Record<string, unknown> | null {
  const { vcsIdentifier: identifier } = workspace;
  if (identifier === null) return null;
  return {
    branch: workspace.vcsBranch ?? "",
    "display-identifier": identifier,
    identifier,
    "ingress-submodules": workspace.vcsIngressSubmodules === 1,
    "oauth-token-id": workspace.vcsOauthTokenId,
    "github-app-installation-id": workspace.vcsGithubAppInstallationId,
    "repository-http-url": `${workspace.httpUrl ?? "https://github.com"}/${identifier}`,
    "service-provider": workspace.serviceProvider ?? "github_app",
    tags: workspace.vcsTagsRegex !== null,
    "tags-regex": workspace.vcsTagsRegex,
    "webhook-url": workspace.webhookUrl,
  };
}

/** Only the hosted edition has assessments, and only there can the organization enforce them. */
export function assessmentsEnabledOf(workspace: WorkspaceView): boolean | undefined {
  if (workspace.edition !== "hosted") return undefined;
  return workspace.assessmentsEnforced === 1 || workspace.assessmentsEnabled === 1;
}

export const workspacePath = (workspace: Pick<WorkspaceView, "organizationName" | "name">): string =>
  `/api/v2/organizations/${workspace.organizationName}/workspaces/${workspace.name}`;
