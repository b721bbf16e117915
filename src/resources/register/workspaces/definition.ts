/** A workspace: what is registered. Its attributes stand in the order of the specification's table. */
import { z } from "zod";
import { workspacePermissionNames, workspacePermissions } from "../../../access/permissions/workspace.ts";
import { defineResource, wordsFor } from "../../../jsonapi/define.ts";
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
  versionsOf,
  workspacePath,
  type WorkspaceView,
} from "./view.ts";

const name = text({
  min: 1,
  max: 90,
  pattern: /^[A-Za-z0-9_-]+$/,
  sentence: "may only contain letters, numbers, dashes and underscores",
});
/** Bounded as a whole too: every list shows them, and every change of a workspace keeps them in the audit trail. */
const patterns = text({ min: 1, max: 256 }).array().max(100);

/** A text with a rule that no single pattern tells. */
const textThat = (
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

const engineVersion = textThat(
  { min: 1, max: 100 },
  (value) => isExactVersion(value) || isConstraint(value),
  "must be an exact version such as 1.9.5, or a constraint such as ~> 1.9.0",
);
const workingDirectory = textThat(
  { max: 1024 },
  (value) => !value.split("/").includes(".."),
  "must stay inside the repository: '..' is not allowed",
);
/** `.` and `..`, also as addresses may spell them: a repository is part of addresses that are called with its connection's token. */
const isDots = (part: string): boolean => /^(?:\.|%2e){1,2}$/i.test(part);
/** As workspaces name a repository. */
export const repository = textThat(
  { min: 1, max: 512 },
  (value) => /^[^/\\?#\s]+(\/[^/\\?#\s]+)+$/.test(value) && !value.split("/").some(isDots),
  "must be of the form ORGANIZATION/REPOSITORY, without '.' and '..', '?', '#' and '\\'",
);

const tagsRegex = text({ max: 512 }).superRefine((value, context) => {
  const fault = expressionFault(value);
  if (fault !== undefined)
    context.addIssue({ code: "custom", message: `must be a regular expression as RE2 knows them: ${fault}` });
});

/** What may be sent of a repository; what must be depends on whether there is one already (`rules.ts`). */
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

/** A tag that is sent with its workspace: by name, or by the id of one that the organization has. */
const tagItem = z.object({
  type: oneOf(["tags"]).optional(),
  id: text({ min: 1, max: 256 }).optional(),
  attributes: z.object({ name: text({ min: 1, max: 255 }).optional() }).optional(),
});

/** Ids as the row keeps them, joined by commas. */
const idList = (joined: string): readonly string[] => (joined === "" ? [] : joined.split(","));

const kpi = (from: (workspace: WorkspaceView) => number, doc: string) =>
  wordsFor<WorkspaceView>().readOnly(wholeNumber(), doc, { from, audited: false });

export const workspaces = defineResource<WorkspaceView>()(({ required, optional, fixed, readOnly, toOne, toMany }) => ({
  type: "workspaces",
  doc: "What is registered: the settings, lock, tags and state of one piece of infrastructure.",
  id: (workspace) => workspace.id,
  version: versionsOf,
  changesAt: ({ lockExpiresAt }) => lockExpiresAt,
  attributes: {
    name: required(name, "Unique in the organization, with its case; it is part of the workspace's paths.", {
      folded: true,
    }),
    description: optional(text({ max: 1024 }).nullable(), "What the workspace is for.", { default: null }),
    actions: readOnly(flags(["is-destroyable"]), "What can be done to it.", {
      from: (workspace) => ({ "is-destroyable": workspace.allowDestroyPlan === 1 }),
      audited: false,
    }),
    "allow-destroy-plan": optional(flag(), "Whether destroy plans can be queued.", { default: true }),
    "assessments-enabled": optional(flag(), "Whether drift is assessed; hosted edition only.", {
      from: assessmentsEnabledOf,
      default: false,
    }),
    "auto-apply": optional(flag(), "Whether successful plans are applied by themselves.", { default: false }),
    "auto-apply-run-trigger": optional(flag(), "The same for runs that run triggers start.", { default: false }),
    "auto-destroy-at": optional(
      timestamp().nullable(),
      "When the next destroy run is due. Null ends the schedule, a duration of its own too unless that is sent beside it, and the project's applies again.",
      { from: autoDestroyAtOf, default: null, column: false },
    ),
    "auto-destroy-status": readOnly(text().nullable(), "`scheduled`, `queued`, `errored`, or null.", {
      from: autoDestroyStatusOf,
      audited: false,
    }),
    "auto-destroy-activity-duration": optional(
      text({ pattern: activityDurationPattern, sentence: activityDurationSentence }).nullable(),
      "How long it may be inactive before it is destroyed: up to four digits and 'd' or 'h'.",
      { default: null, column: false },
    ),
    "inherits-project-auto-destroy": optional(
      flag(),
      "Whether the project's duration applies; true drops the workspace's own.",
      { default: true, column: false },
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
    "updated-at": readOnly(timestamp(), "When it was last changed.", { audited: false }),
    "latest-change-at": readOnly(timestamp(), "When its latest state version was made, or it itself.", {
      audited: false,
    }),
    "last-assessment-result-at": readOnly(timestamp().nullable(), "When drift was last assessed.", {
      audited: false,
    }),
    environment: readOnly(text(), "Always `default`.", { from: () => "default", audited: false }),
    "execution-mode": optional(
      oneOf(executionModes),
      "Where it runs; `local` stores state only. Without one, the default of its project, or else of the organization, is followed.",
      { from: executionModeOf, column: false },
    ),
    operations: optional(flag(), "Deprecated: false is the execution mode `local`.", {
      from: (workspace) => executionModeOf(workspace) !== "local",
      audited: false,
      column: false,
    }),
    "agent-pool-id": optional(reference(), "The pool that agent mode needs.", {
      shown: false,
      column: false,
    }),
    "file-triggers-enabled": optional(flag(), "Whether a push starts a run only when it changes matching files.", {
      default: true,
    }),
    "trigger-prefixes": optional(
      patterns,
      "Paths whose changes start a run, beside the working directory. An update that sends this list, even an empty one, empties trigger-patterns, unless those are sent too.",
      { default: [] },
    ),
    "trigger-patterns": optional(
      patterns,
      "Glob patterns of files whose changes start a run. An update that sends this list, even an empty one, empties trigger-prefixes, unless those are sent too.",
      { default: [] },
    ),
    "global-remote-state": optional(flag(), "Whether every workspace of the organization may read its state.", {
      default: false,
    }),
    "project-remote-state": optional(
      flag(),
      "Whether every workspace of its project may read its state; not together with global-remote-state.",
      { default: false },
    ),
    locked: readOnly(flag(), "Whether it is locked.", {
      from: (workspace) => workspace.lockedByType !== null,
    }),
    "locked-reason": readOnly(text().nullable(), "Why it is locked."),
    "locked-at": readOnly(timestamp().nullable(), "Since when it is locked."),
    "lock-expires-at": readOnly(
      timestamp().nullable(),
      "When the lock ends by itself, unless its holder renews it; null where it is held until somebody unlocks.",
    ),
    "oauth-client-name": readOnly(text().nullable(), "The name of its connection to version control.", {
      audited: false,
    }),
    "queue-all-runs": optional(flag(), "Whether pushes start runs before one was started by hand.", { default: false }),
    "speculative-enabled": optional(flag(), "Whether pull requests start speculative plans.", { default: true }),
    source: readOnly(text(), "What made it: `tfe-api`, `tfe-ui` or `terraform`."),
    "source-name": fixed(text({ max: 255 }).nullable(), "The client that made it, for people.", { default: null }),
    "source-url": fixed(text({ max: 2048 }).nullable(), "Where that client is.", { default: null }),
    "hyok-enabled": optional(
      neverTrue("the service has no encryption by keys that are held elsewhere"),
      "Only false is taken.",
      { column: false, shown: false, audited: false },
    ),
    "structured-run-output-enabled": optional(flag(), "Whether runs show structured output.", { default: true }),
    "tag-names": readOnly(text().array(), "Its tags.", {
      from: ({ tagNames }) => (tagNames === "" ? [] : tagNames.split(",")),
    }),
    engine: optional(
      oneOf(["terraform", "tofu"]).nullable(),
      "What executes its runs: `terraform` or `tofu`; null for what the site uses.",
      { default: null },
    ),
    "engine-version": optional(
      engineVersion,
      "An exact version, or a constraint such as `~> 1.0.0`; the newest known release when it is not sent.",
    ),
    "working-directory": optional(workingDirectory.nullable(), "Where runs work, relative to the repository's root.", {
      default: null,
    }),
    "vcs-repo": optional(vcsRepo, "The repository; null removes it. Only the keys to change need to be sent.", {
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
      "Which settings are the workspace's own instead of the default of its project or organization.",
      {
        column: false,
        from: (workspace) => ({
          "execution-mode": workspace.overwritesExecutionMode === 1,
          "agent-pool": workspace.overwritesAgentPool === 1,
        }),
      },
    ),
    permissions: readOnly(flags(workspacePermissionNames), "What the caller may do.", {
      from: workspacePermissions,
      audited: false,
    }),
    "apply-duration-average": kpi(
      ({ applyDurationAverage }) => applyDurationAverage,
      "Average time of apply phases, in milliseconds.",
    ),
    "plan-duration-average": kpi(
      ({ planDurationAverage }) => planDurationAverage,
      "Average time of plan phases, in milliseconds.",
    ),
    "policy-check-failures": kpi(() => 0, "How many of the latest runs a policy check stopped."),
    "run-failures": kpi(({ runFailures }) => runFailures, "How many of the latest runs failed."),
    "workspace-kpis-runs-count": kpi(
      ({ runsCount }) => runsCount,
      "How many runs these figures are about, at most 30.",
    ),
    "resource-count": readOnly(
      wholeNumber().nullable(),
      "How many resources it manages; null where the engine encrypted its state, so that nobody can tell.",
      { from: ({ stateEncrypted, resourceCount }) => (stateEncrypted === 1 ? null : resourceCount), audited: false },
    ),
  },
  relationships: {
    "agent-pool": toOne("agent-pools", "The agent pool in force.", { nullable: true, id: agentPoolOf }),
    "current-assessment-result": toOne("assessment-results", "The latest assessment.", {
      nullable: true,
      id: (workspace) => workspace.currentAssessmentResultId,
    }),
    "current-configuration-version": toOne(
      "configuration-versions",
      "The configuration that runs begin with: the latest one that was sent to stay, or the first one while it is awaited.",
      { nullable: true, id: (workspace) => workspace.currentConfigurationVersionId },
    ),
    "current-run": toOne("runs", "The current run.", {
      nullable: true,
      id: (workspace) => workspace.currentRunId,
    }),
    "latest-run": toOne("runs", "Deprecated: the same as current-run.", {
      nullable: true,
      id: (workspace) => workspace.currentRunId,
    }),
    "current-state-version": toOne("state-versions", "The state in force.", {
      nullable: true,
      id: (workspace) => workspace.currentStateVersionId,
      related: (workspace) =>
        workspace.currentStateVersionId === null
          ? undefined
          : `/api/v2/workspaces/${workspace.id}/current-state-version`,
    }),
    "data-retention-policy": toOne(
      ["data-retention-policy-delete-olders", "data-retention-policy-dont-deletes"],
      "How long old state is kept; self-hosted edition only.",
      {
        nullable: true,
        id: (workspace) => (workspace.edition === "hosted" ? undefined : workspace.retentionId),
        type: (workspace) => workspace.retentionKind ?? "",
      },
    ),
    "locked-by": toOne(["users", "teams", "runs"], "Who holds the lock.", {
      nullable: true,
      id: (workspace) => workspace.lockedById,
      type: (workspace) => workspace.lockedByType ?? "users",
    }),
    organization: toOne("organizations", "The organization.", {
      id: (workspace) => workspace.organizationName,
      related: (workspace) => `/api/v2/organizations/${workspace.organizationName}`,
    }),
    outputs: toMany("workspace-outputs", "The outputs of the state in force, for whoever may read them.", {
      ids: (workspace) =>
        workspacePermissions(workspace)["can-read-state-outputs"] ? idList(workspace.outputIds) : [],
    }),
    project: toOne("projects", "The project that holds it.", {
      create: "optional",
      update: "optional",
      id: (workspace) => workspace.projectId,
      related: (workspace) => `/api/v2/projects/${workspace.projectId}`,
    }),
    readme: toOne("workspace-readme", "The readme of the current configuration.", {
      nullable: true,
      id: (workspace) => workspace.readmeConfigurationVersionId,
    }),
    "remote-state-consumers": toMany("workspaces", "Workspaces that may read its state.", {
      related: (workspace) => `/api/v2/workspaces/${workspace.id}/relationships/remote-state-consumers`,
    }),
    "ssh-key": toOne("ssh-keys", "The key that runs use.", {
      nullable: true,
      id: (workspace) => workspace.sshKeyId,
    }),
    tags: toMany("tags", "Its tags.", {
      create: "optional",
      item: tagItem,
      related: (workspace) => `/api/v2/workspaces/${workspace.id}/relationships/tags`,
    }),
    "tag-bindings": toMany("tag-bindings", "Its key-value tags; an empty list clears them.", {
      create: "optional",
      update: "optional",
      item: bindingItem,
      related: (workspace) => `/api/v2/workspaces/${workspace.id}/tag-bindings`,
    }),
    "effective-tag-bindings": toMany(
      "effective-tag-bindings",
      "The key-value tags in effect; named where `include` asks for them.",
      { ids: (workspace) => workspace.effectiveTagBindingIds },
    ),
    vars: toMany("vars", "Its variables, for whoever may read them.", {
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
