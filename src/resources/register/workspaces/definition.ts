/** The workspace resource, in the order of the specification. */
import { z } from "zod";
import { workspacePermissionNames, workspacePermissions } from "../../../access/permissions/workspace.ts";
import { defineResource, definitionBuilders } from "../../../jsonapi/define.ts";
import { flag, flags, oneOf, reference, text, timestamp, wholeNumber, neverTrue } from "../../../jsonapi/schemas.ts";
import { activityDurationPattern, activityDurationSentence } from "../../../kernel/time.ts";
import { expressionFault } from "../../../kernel/patterns.ts";
import { lengthOf } from "../../../kernel/text.ts";
import { executionModes } from "../../identity/organizations/definition.ts";
import { bindingItem } from "../tag-bindings/definition.ts";
import { isConstraint, isExactVersion } from "../../site/terraform-versions/versions.ts";
import { type AutoDestroyInput, autoDestroyFaults } from "./auto-destroy.ts";
import { workspaceOperations } from "./contract.ts";
import { type ExecutionInput, executionFaults } from "../execution.ts";
import { sharingFaults, type SharingInput } from "./sharing.ts";
import {
  agentPoolOf,
  assessmentsEnabledOf,
  autoDestroyAtOf,
  autoDestroyStatusOf,
  executionModeOf,
  vcsRepoOf,
  etagVersionsOf,
  workspacePath,
  type WorkspaceView,
} from "./view.ts";

const name = text({
  min: 1,
  max: 90,
  pattern: /^[A-Za-z0-9_-]+$/,
  sentence: "may only contain letters, numbers, dashes and underscores",
});
/** Limits the size of lists and of the audit log. */
const patterns = text({ min: 1, max: 256 }).array().max(100);

const refinedText = (
  { min = 0, max }: { min?: number; max: number },
  fits: (value: string) => boolean,
  sentence: string,
) =>
  text({ min, max })
    .superRefine((value, context) => {
      if (value !== "" && lengthOf(value) <= max && !fits(value))
        context.addIssue({ code: "custom", message: sentence });
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });

const engineVersion = refinedText(
  { min: 1, max: 100 },
  (value) => isExactVersion(value) || isConstraint(value),
  "must be an exact version such as 1.9.5, or a constraint such as ~> 1.9.0",
);
const workingDirectory = refinedText(
  { max: 1024 },
  (value) => !value.split("/").includes(".."),
  "must stay inside the repository: '..' is not allowed",
);
/** Also percent-encoded: the repository becomes part of URLs that are requested with the connection's token. */
const isDots = (part: string): boolean => /^(?:\.|%2e){1,2}$/i.test(part);
export const repository = refinedText(
  { min: 1, max: 512 },
  (value) => /^[^/\\?#\s]+(\/[^/\\?#\s]+)+$/.test(value) && !value.split("/").some(isDots),
  "must be of the form ORGANIZATION/REPOSITORY, without '.' and '..', '?', '#' and '\\'",
);

const tagsRegex = text({ max: 512 }).superRefine((value, context) => {
  const fault = expressionFault(value);
  if (fault !== undefined)
    context.addIssue({ code: "custom", message: `must be a regular expression in RE2 syntax: ${fault}` });
});

/** `vcs.ts` checks which keys are required. */
const vcsRepo = z
  .object({
    identifier: repository.optional(),
    branch: text({ max: 255 }).nullable().optional(),
    "ingress-submodules": flag().optional(),
    "oauth-token-id": reference().optional(),
    "github-app-installation-id": reference().optional(),
    "tags-regex": tagsRegex.nullable().optional(),
  })
  .loose()
  .superRefine((sent, context) => {
    if (sent["oauth-token-id"] && sent["github-app-installation-id"])
      context.addIssue({
        code: "custom",
        path: ["github-app-installation-id"],
        message: "can't be sent together with oauth-token-id",
      });
  })
  .nullable();

const tagItem = z.object({
  type: oneOf(["tags"]).optional(),
  id: text({ min: 1, max: 256 }).optional(),
  attributes: z.object({ name: text({ min: 1, max: 255 }).optional() }).optional(),
});

const idList = (joined: string): readonly string[] => (joined === "" ? [] : joined.split(","));

const kpi = (from: (workspace: WorkspaceView) => number, doc: string) =>
  definitionBuilders<WorkspaceView>().readOnly(wholeNumber(), doc, { from, audited: false });

export const workspaces = defineResource<WorkspaceView>()(({ required, optional, fixed, readOnly, toOne, toMany }) => ({
  type: "workspaces",
  doc: "A workspace holds the settings, lock, tags and state of one piece of infrastructure.",
  id: (workspace) => workspace.id,
  version: etagVersionsOf,
  changesAt: ({ lockExpiresAt }) => lockExpiresAt,
  attributes: {
    name: required(name, "The name: unique in the organization and case-sensitive. It is part of URLs.", {
      folded: true,
    }),
    description: optional(text({ max: 1024 }).nullable(), "What the workspace is for.", { default: null }),
    actions: readOnly(flags(["is-destroyable"]), "Actions that the workspace allows.", {
      from: (workspace) => ({ "is-destroyable": workspace.allowDestroyPlan === 1 }),
      audited: false,
    }),
    "allow-destroy-plan": optional(flag(), "Whether destroy plans can be queued.", { default: true }),
    "assessments-enabled": optional(flag(), "Whether drift is assessed. Hosted edition only.", {
      from: assessmentsEnabledOf,
      default: false,
    }),
    "auto-apply": optional(flag(), "Whether successful plans are applied automatically.", { default: false }),
    "auto-apply-run-trigger": optional(flag(), "Whether plans of run triggers are applied automatically.", {
      default: false,
    }),
    "auto-destroy-at": optional(
      timestamp().nullable(),
      "When the next destroy run is due. Null removes the schedule and, unless the request also sends one, the workspace's own duration; then the project's duration applies again.",
      { from: autoDestroyAtOf, default: null, column: false },
    ),
    "auto-destroy-status": readOnly(text().nullable(), "`scheduled`, `queued`, `errored`, or null.", {
      from: autoDestroyStatusOf,
      audited: false,
    }),
    "auto-destroy-activity-duration": optional(
      text({ pattern: activityDurationPattern, sentence: activityDurationSentence }).nullable(),
      "How long the workspace can be inactive before its resources are destroyed: up to four digits and 'd' or 'h'.",
      { default: null, column: false },
    ),
    "inherits-project-auto-destroy": optional(
      flag(),
      "Whether the project's duration applies. True removes the workspace's own duration.",
      { default: true, column: false },
    ),
    "created-at": readOnly(timestamp(), "When the workspace was created."),
    "updated-at": readOnly(timestamp(), "When the workspace was last changed.", { audited: false }),
    "latest-change-at": readOnly(
      timestamp(),
      "When the latest state version was created, or the workspace if it has none.",
      {
        audited: false,
      },
    ),
    "last-assessment-result-at": readOnly(timestamp().nullable(), "When drift was last assessed.", {
      audited: false,
    }),
    environment: readOnly(text(), "Always `default`.", { from: () => "default", audited: false }),
    "execution-mode": optional(
      oneOf(executionModes),
      "Where runs are executed; `local` only stores state. If it is not set, the default of the project applies, or else of the organization.",
      { from: executionModeOf, column: false },
    ),
    operations: optional(flag(), "Deprecated. False means the execution mode `local`.", {
      from: (workspace) => executionModeOf(workspace) !== "local",
      audited: false,
      column: false,
    }),
    "agent-pool-id": optional(reference(), "The agent pool. Required for the execution mode `agent`.", {
      shown: false,
      column: false,
    }),
    "file-triggers-enabled": optional(flag(), "Whether a push starts a run only if it changes matching files.", {
      default: true,
    }),
    "trigger-prefixes": optional(
      patterns,
      "Paths whose changes start a run, in addition to the working directory. An update that sends this list, even an empty one, empties trigger-patterns unless it sends both.",
      { default: [] },
    ),
    "trigger-patterns": optional(
      patterns,
      "Glob patterns of files whose changes start a run. An update that sends this list, even an empty one, empties trigger-prefixes unless it sends both.",
      { default: [] },
    ),
    "global-remote-state": optional(flag(), "Whether all workspaces of the organization can read the state.", {
      default: false,
    }),
    "project-remote-state": optional(
      flag(),
      "Whether every workspace of the project can read this workspace's state. It can't be combined with global-remote-state.",
      { default: false },
    ),
    locked: readOnly(flag(), "Whether the workspace is locked.", {
      from: (workspace) => workspace.lockedByType !== null,
    }),
    "locked-reason": readOnly(text().nullable(), "The reason for the lock."),
    "locked-at": readOnly(timestamp().nullable(), "When the workspace was locked."),
    "lock-expires-at": readOnly(
      timestamp().nullable(),
      "When the lock expires unless its holder renews it. Null for a lock without a lease.",
    ),
    "oauth-client-name": readOnly(text().nullable(), "The name of the workspace's VCS connection.", {
      audited: false,
    }),
    "queue-all-runs": optional(flag(), "Whether pushes start runs before the first manual run.", {
      default: false,
    }),
    "speculative-enabled": optional(flag(), "Whether pull requests start speculative plans.", { default: true }),
    source: readOnly(text(), "What created the workspace: `tfe-api`, `tfe-ui` or `terraform`."),
    "source-name": fixed(text({ max: 255 }).nullable(), "The name of the client that created the workspace.", {
      default: null,
    }),
    "source-url": fixed(text({ max: 2048 }).nullable(), "The URL of the client that created the workspace.", {
      default: null,
    }),
    "hyok-enabled": optional(
      neverTrue("the service does not support hold-your-own-key encryption"),
      "Only false is accepted.",
      { column: false, shown: false, audited: false },
    ),
    "structured-run-output-enabled": optional(flag(), "Whether runs produce structured output.", { default: true }),
    "tag-names": readOnly(text().array(), "The names of the workspace's tags.", {
      from: ({ tagNames }) => (tagNames === "" ? [] : tagNames.split(",")),
    }),
    engine: optional(
      oneOf(["terraform", "tofu"]).nullable(),
      "The engine that executes runs: `terraform` or `tofu`. Null for the site's default.",
      { default: null },
    ),
    "engine-version": optional(
      engineVersion,
      "An exact version, or a constraint such as `~> 1.0.0`. The default is the newest known release.",
    ),
    "working-directory": optional(
      workingDirectory.nullable(),
      "The directory of runs, relative to the repository's root.",
      {
        default: null,
      },
    ),
    "vcs-repo": optional(vcsRepo, "The VCS repository. Null removes it. Absent keys keep their value.", {
      from: vcsRepoOf,
      default: null,
      column: false,
    }),
    "vcs-repo-identifier": readOnly(text().nullable(), "The repository's identifier.", {
      from: (workspace) => workspace.vcsIdentifier,
      audited: false,
    }),
    "setting-overwrites": optional(
      flags(["execution-mode", "agent-pool"]),
      "Which settings are the workspace's own; the others follow its project or organization.",
      {
        column: false,
        from: (workspace) => ({
          "execution-mode": workspace.overwritesExecutionMode === 1,
          "agent-pool": workspace.overwritesAgentPool === 1,
        }),
      },
    ),
    permissions: readOnly(flags(workspacePermissionNames), "The caller's permissions on the workspace.", {
      from: workspacePermissions,
      audited: false,
    }),
    "apply-duration-average": kpi(
      ({ applyDurationAverage }) => applyDurationAverage,
      "The average duration of apply phases in milliseconds.",
    ),
    "plan-duration-average": kpi(
      ({ planDurationAverage }) => planDurationAverage,
      "The average duration of plan phases in milliseconds.",
    ),
    "policy-check-failures": kpi(() => 0, "The number of recent runs that a policy check stopped."),
    "run-failures": kpi(({ runFailures }) => runFailures, "The number of recent runs that failed."),
    "workspace-kpis-runs-count": kpi(
      ({ runsCount }) => runsCount,
      "The number of runs behind the averages and counts above, at most 30.",
    ),
    "resource-count": readOnly(
      wholeNumber().nullable(),
      "The number of managed resources. Null if the engine encrypted the state, so the number is unknown.",
      { from: ({ stateEncrypted, resourceCount }) => (stateEncrypted === 1 ? null : resourceCount), audited: false },
    ),
  },
  relationships: {
    "agent-pool": toOne("agent-pools", "The effective agent pool.", { nullable: true, id: agentPoolOf }),
    "current-assessment-result": toOne("assessment-results", "The latest assessment result.", {
      nullable: true,
      id: (workspace) => workspace.currentAssessmentResultId,
    }),
    "current-configuration-version": toOne(
      "configuration-versions",
      "The configuration that new runs use: the latest uploaded one that is not speculative, or the first one while its upload is pending.",
      { nullable: true, id: (workspace) => workspace.currentConfigurationVersionId },
    ),
    "current-run": toOne("runs", "The current run.", {
      nullable: true,
      id: (workspace) => workspace.currentRunId,
    }),
    "latest-run": toOne("runs", "Deprecated. The same as current-run.", {
      nullable: true,
      id: (workspace) => workspace.currentRunId,
    }),
    "current-state-version": toOne("state-versions", "The current state version.", {
      nullable: true,
      id: (workspace) => workspace.currentStateVersionId,
      related: (workspace) =>
        workspace.currentStateVersionId === null
          ? undefined
          : `/api/v2/workspaces/${workspace.id}/current-state-version`,
    }),
    "data-retention-policy": toOne(
      ["data-retention-policy-delete-olders", "data-retention-policy-dont-deletes"],
      "The data retention policy. Self-hosted edition only.",
      {
        nullable: true,
        id: (workspace) => (workspace.edition === "hosted" ? undefined : workspace.retentionId),
        type: (workspace) => workspace.retentionKind ?? "",
      },
    ),
    "locked-by": toOne(["users", "teams", "runs"], "The user, team or run that holds the lock.", {
      nullable: true,
      id: (workspace) => workspace.lockedById,
      type: (workspace) => workspace.lockedByType ?? "users",
    }),
    organization: toOne("organizations", "The organization.", {
      id: (workspace) => workspace.organizationName,
      related: (workspace) => `/api/v2/organizations/${workspace.organizationName}`,
    }),
    outputs: toMany("workspace-outputs", "The outputs of the current state, if the caller can read them.", {
      ids: (workspace) =>
        workspacePermissions(workspace)["can-read-state-outputs"] ? idList(workspace.outputIds) : [],
    }),
    project: toOne("projects", "The workspace's project.", {
      create: "optional",
      update: "optional",
      id: (workspace) => workspace.projectId,
      related: (workspace) => `/api/v2/projects/${workspace.projectId}`,
    }),
    readme: toOne("workspace-readme", "The readme of the current configuration.", {
      nullable: true,
      id: (workspace) => workspace.readmeConfigurationVersionId,
    }),
    "remote-state-consumers": toMany("workspaces", "The workspaces that can read this workspace's state.", {
      related: (workspace) => `/api/v2/workspaces/${workspace.id}/relationships/remote-state-consumers`,
    }),
    "ssh-key": toOne("ssh-keys", "The SSH key that runs use.", {
      nullable: true,
      id: (workspace) => workspace.sshKeyId,
    }),
    tags: toMany("tags", "The workspace's tags.", {
      create: "optional",
      item: tagItem,
      related: (workspace) => `/api/v2/workspaces/${workspace.id}/relationships/tags`,
    }),
    "tag-bindings": toMany("tag-bindings", "The workspace's key-value tags. An empty list removes them.", {
      create: "optional",
      update: "optional",
      item: bindingItem,
      related: (workspace) => `/api/v2/workspaces/${workspace.id}/tag-bindings`,
    }),
    "effective-tag-bindings": toMany(
      "effective-tag-bindings",
      "The effective key-value tags; listed only if `include` names them.",
      { ids: (workspace) => workspace.effectiveTagBindingIds },
    ),
    vars: toMany("vars", "The workspace's variables, for callers who can read them.", {
      ids: (workspace) => (workspacePermissions(workspace)["can-read-variable"] ? idList(workspace.varIds) : []),
    }),
  },
  links: (workspace) => ({
    self: workspacePath(workspace),
    "self-html": `/app/${workspace.organizationName}/workspaces/${workspace.name}`,
  }),
  bodyFaults: (attributes: ExecutionInput & AutoDestroyInput & SharingInput) => [
    ...executionFaults(attributes),
    ...sharingFaults(attributes),
    ...autoDestroyFaults(attributes),
  ],
  operations: workspaceOperations,
}));
