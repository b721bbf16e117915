/** What is loaded of a workspace, and what its document says beside its own columns. */
import type { Access } from "../../../access/effective.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { activityDurationMs } from "../../../kernel/time.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import type { LockColumns } from "./holder.ts";

/** The organization's settings that a workspace's document depends on. */
export interface OrganizationSettings extends OrganizationFacts {
  readonly defaultExecutionMode: string;
  readonly defaultAgentPoolId: string | null;
  readonly organizationDefaults: number;
  readonly allowForceDeleteWorkspaces: number;
  readonly assessmentsEnforced: number;
}

/** What comes from the connection to version control, the retention policy and the project. */
export interface ConnectedFacts {
  /** The project's own defaults; null where it follows the organization's. */
  readonly projectExecutionMode: string | null;
  readonly projectAgentPoolId: string | null;
  readonly projectDuration: string | null;
  readonly projectDefaults: number;
  readonly oauthClientId: string | null;
  readonly oauthClientName: string | null;
  readonly serviceProvider: string | null;
  readonly httpUrl: string | null;
  readonly retentionId: string | null;
  readonly retentionKind: string | null;
}

/** Its duration is the one in force: its own, or the project's. */
export interface WorkspaceView extends WorkspaceTable, OrganizationSettings, ConnectedFacts {
  readonly access: Access;
  /** Whether the caller owns the organization. */
  readonly owner: boolean;
  readonly edition: ServiceOptions["edition"];
  /** Where its provider is to send what happens; null without a connection. */
  readonly webhookUrl: string | null;
  /** Where it was loaded by itself: see `warrants.ts`. */
  readonly organizationVersion?: number;
  readonly accessVersion?: number;
  /** A lock whose lease has ended and which nobody has taken off the row yet; the view itself shows none. */
  readonly endedLock?: LockColumns | undefined;
  /** Only where they were asked for. */
  readonly effectiveTagBindingIds?: readonly string[];
}

/** Its own version, and those of what it shows of others: the defaults count for a workspace that follows them. */
export function versionsOf(workspace: WorkspaceView): readonly number[] {
  const follows = workspace.overwritesExecutionMode === 0;
  return [
    workspace.version,
    workspace.organizationFacts,
    follows ? workspace.projectDefaults : 0,
    follows && workspace.projectExecutionMode === null ? workspace.organizationDefaults : 0,
    // As long as it inherits its duration, that itself tells one document from another.
    workspace.inheritsProjectAutoDestroy === 1 && workspace.projectDuration !== null
      ? activityDurationMs(workspace.projectDuration)
      : 0,
  ];
}

/** The execution mode in force: the workspace's own, or the default of its project or organization as it is now. */
export function executionModeOf(
  workspace: Pick<
    WorkspaceView,
    "executionMode" | "projectExecutionMode" | "defaultExecutionMode" | "overwritesExecutionMode"
  >,
): string {
  const own = workspace.overwritesExecutionMode === 1 ? workspace.executionMode : null;
  return own ?? workspace.projectExecutionMode ?? workspace.defaultExecutionMode;
}

/** The agent pool in force, from where the mode comes from; only agent mode has one. */
export function agentPoolOf(workspace: WorkspaceView): string | null {
  if (executionModeOf(workspace) !== "agent") return null;
  if (workspace.overwritesAgentPool === 1) return workspace.agentPoolId;
  return workspace.projectExecutionMode === null ? workspace.defaultAgentPoolId : workspace.projectAgentPoolId;
}

/** With a duration: so long after the last activity. Without: the time that somebody chose. */
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

/** One for all repositories of a connection: each delivery names its own, and carries the connection's secret. */
export const webhookUrlOf = ({ publicUrl }: Pick<ServiceOptions, "publicUrl">, oauthClientId: string): string =>
  `${publicUrl}/webhooks/vcs/${oauthClientId}`;

/** Null without a repository. */
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

/** The hosted edition alone has assessments; there the organization can enforce them. */
export function assessmentsEnabledOf(workspace: WorkspaceView): boolean | undefined {
  if (workspace.edition !== "hosted") return undefined;
  return workspace.assessmentsEnforced === 1 || workspace.assessmentsEnabled === 1;
}

export const workspacePath = (workspace: Pick<WorkspaceView, "organizationName" | "name">): string =>
  `/api/v2/organizations/${workspace.organizationName}/workspaces/${workspace.name}`;
