/** Decides whether a repository event starts a run in a workspace. Pure; the only place that decides this. */
import { expression, expressionFault, globs } from "../../../kernel/patterns.ts";
import { quoted } from "../../../kernel/text.ts";
import type { VcsRepositoryEvent, PullRequest, Push, TagPush } from "./repository-event.ts";

export interface TriggerSettings {
  readonly executionMode: string;
  /** Null for the repository's default branch. */
  readonly branch: string | null;
  readonly tagsRegex: string | null;
  readonly fileTriggersEnabled: boolean;
  readonly triggerPrefixes: readonly string[];
  readonly triggerPatterns: readonly string[];
  readonly workingDirectory: string | null;
  readonly speculativeEnabled: boolean;
  readonly queueAllRuns: boolean;
}

export interface TriggerFacts {
  /** Like `files`: undefined until it was looked up; null if unknown. */
  readonly defaultBranch?: string | null | undefined;
  readonly files?: readonly string[] | null | undefined;
  readonly hasManualRun: boolean;
  readonly plansForks: boolean;
}

/** `plan`: a speculative run. `configuration`: fetch it for a run that a user starts. `ask`: look up a fact first. */
export type TriggerDecision =
  | { readonly action: "run" | "plan" }
  | { readonly action: "nothing"; readonly why: string }
  | { readonly action: "configuration"; readonly why: string }
  | { readonly action: "ask"; readonly what: "files" | "default-branch" };

const nothing = (why: string): TriggerDecision => ({ action: "nothing", why });

export function decide(event: VcsRepositoryEvent, watch: TriggerSettings, known: TriggerFacts): TriggerDecision {
  if (watch.executionMode === "local")
    return nothing("the workspace has the execution mode local, so runs are executed on the machine that starts them");
  if (event.kind === "pull-request") return onPullRequest(event, watch, known);
  return (
    (event.kind === "tag" ? tagDecision(event, watch) : pushDecision(event, watch, known)) ??
    decisionByQueueAllRuns(watch, known)
  );
}

function tagDecision(
  { tag, isDeleted, message }: TagPush,
  { tagsRegex }: TriggerSettings,
): TriggerDecision | undefined {
  if (isDeleted) return nothing(`the tag ${quoted(tag)} was deleted`);
  if (tagsRegex === null) return nothing("it is a tag, and the workspace has no tags-regex");
  const fault = expressionFault(tagsRegex);
  if (fault !== undefined) return nothing(`tags-regex can't be used: ${fault}`);
  if (!expression(tagsRegex)(tag)) return nothing(`the tag ${quoted(tag)} does not match tags-regex`);
  return skipped(message);
}

function pushDecision(push: Push, watch: TriggerSettings, known: TriggerFacts): TriggerDecision | undefined {
  if (push.isDeleted) return nothing(`the branch ${quoted(push.branch)} was deleted`);
  if (watch.tagsRegex !== null) return nothing("the workspace has a tags-regex, so only tags start runs");
  return branchObstacle(push.branch, push, watch, known) ?? skipped(push.message) ?? fileDecision(push, watch, known);
}

function onPullRequest(request: PullRequest, watch: TriggerSettings, known: TriggerFacts): TriggerDecision {
  if (!watch.speculativeEnabled) return nothing("speculative-enabled is false");
  if (request.fork !== null && !known.plansForks)
    return nothing(
      `it comes from the fork ${quoted(request.fork)}, and plans for forks are not allowed (CADASTRE_PLAN_FORKS)`,
    );
  return (
    branchObstacle(request.target, request, watch, known) ??
    skipped(request.message) ??
    fileDecision(request, watch, known) ?? { action: "plan" }
  );
}

function branchObstacle(
  branch: string,
  event: VcsRepositoryEvent,
  watch: TriggerSettings,
  known: TriggerFacts,
): TriggerDecision | undefined {
  const followed = watch.branch ?? event.defaultBranch ?? known.defaultBranch;
  if (followed === undefined) return { action: "ask", what: "default-branch" };
  if (followed === null)
    return nothing("the repository's default branch is not known; set vcs-repo.branch on the workspace");
  if (followed === branch) return undefined;
  const whose = watch.branch === null ? "the default branch" : "the branch";
  const what = event.kind === "pull-request" ? "its target is" : "it is on";
  return nothing(`${what} the branch ${quoted(branch)}, and the workspace follows ${whose} ${quoted(followed)}`);
}

const skipMarks = ["[skip ci]", "[ci skip]"];

function skipped(message: string | null): TriggerDecision | undefined {
  const mark = skipMarks.find((each) => message?.toLowerCase().includes(each));
  return mark === undefined ? undefined : nothing(`its message contains ${mark}`);
}

function decisionByQueueAllRuns({ queueAllRuns }: TriggerSettings, { hasManualRun }: TriggerFacts): TriggerDecision {
  if (queueAllRuns || hasManualRun) return { action: "run" };
  return { action: "configuration", why: "queue-all-runs is false and nobody has queued a run yet" };
}

/** About 50 ms of the main thread. */
const comparisonsMax = 4_000_000;

/** An unknown list of files, or one that is too long to compare, counts as a match. */
function fileDecision(
  event: Push | PullRequest,
  watch: TriggerSettings,
  known: TriggerFacts,
): TriggerDecision | undefined {
  const filter = watch.fileTriggersEnabled ? fileFilterOf(watch) : undefined;
  if (filter === undefined) return undefined;
  const files = event.files ?? known.files;
  if (files === undefined) return { action: "ask", what: "files" };
  if (files === null || files.length * filter.folders.length > comparisonsMax) return undefined;
  const [fits, isInFolder] = [globs(filter.patterns, comparisonsMax), inAnyFolder(filter.folders)];
  return files.some((file) => fits(file) || isInFolder(file)) ? undefined : nothing(filter.why);
}

interface FileFilter {
  readonly patterns: readonly string[];
  readonly folders: readonly string[];
  readonly why: string;
}

/** Undefined matches any file. The working directory counts together with prefixes, but not with patterns alone. */
function fileFilterOf({ triggerPatterns, triggerPrefixes, workingDirectory }: TriggerSettings): FileFilter | undefined {
  const directory = normal(workingDirectory ?? "");
  if (triggerPrefixes.length > 0) {
    const folders = [...triggerPrefixes.map(normal), ...(directory === "" ? [] : [directory])];
    const names = [...(triggerPatterns.length > 0 ? ["trigger-patterns"] : []), "trigger-prefixes"];
    const orDirectory = directory === "" ? "" : " or is in the working directory";
    return { patterns: triggerPatterns, folders, why: `no changed file matches ${names.join(" or ")}${orDirectory}` };
  }
  if (triggerPatterns.length > 0)
    return { patterns: triggerPatterns, folders: [], why: "no changed file matches trigger-patterns" };
  if (directory === "") return undefined;
  return {
    patterns: [],
    folders: [directory],
    why: `no changed file is in the working directory ${quoted(directory)}`,
  };
}

/** `/modules/./vpc/` → `modules/vpc` */
const normal = (path: string): string =>
  path
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".")
    .join("/");

/** By whole path segments: `modules` does not contain `modules-old/main.tf`. */
function inAnyFolder(folders: readonly string[]): (file: string) => boolean {
  return (file) => folders.some((folder) => folder === "" || file === folder || file.startsWith(`${folder}/`));
}
