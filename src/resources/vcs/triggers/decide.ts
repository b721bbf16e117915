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
  readonly plansForkPullRequests: boolean;
}

/** `plan`: a speculative run. `configuration`: fetch it for a run that a user starts. `lookup`: find a fact first. */
export type TriggerDecision =
  | { readonly action: "run" | "plan" }
  | { readonly action: "ignore"; readonly why: string }
  | { readonly action: "configuration"; readonly why: string }
  | { readonly action: "lookup"; readonly fact: "files" | "default-branch" };

const ignored = (why: string): TriggerDecision => ({ action: "ignore", why });

export function decide(event: VcsRepositoryEvent, settings: TriggerSettings, facts: TriggerFacts): TriggerDecision {
  if (settings.executionMode === "local")
    return ignored("the workspace has the execution mode local, so runs are executed on the machine that starts them");
  if (event.kind === "pull-request") return pullRequestDecision(event, settings, facts);
  return (
    (event.kind === "tag" ? tagDecision(event, settings) : pushDecision(event, settings, facts)) ??
    decisionByQueueAllRuns(settings, facts)
  );
}

function tagDecision(
  { tag, isDeleted, message }: TagPush,
  { tagsRegex }: TriggerSettings,
): TriggerDecision | undefined {
  if (isDeleted) return ignored(`the tag ${quoted(tag)} was deleted`);
  if (tagsRegex === null) return ignored("it is a tag, and the workspace has no tags-regex");
  const fault = expressionFault(tagsRegex);
  if (fault !== undefined) return ignored(`tags-regex can't be used: ${fault}`);
  if (!expression(tagsRegex)(tag)) return ignored(`the tag ${quoted(tag)} does not match tags-regex`);
  return skipDecision(message);
}

function pushDecision(push: Push, settings: TriggerSettings, facts: TriggerFacts): TriggerDecision | undefined {
  if (push.isDeleted) return ignored(`the branch ${quoted(push.branch)} was deleted`);
  if (settings.tagsRegex !== null) return ignored("the workspace has a tags-regex, so only tags start runs");
  return (
    branchDecision(push.branch, push, settings, facts) ??
    skipDecision(push.message) ??
    fileDecision(push, settings, facts)
  );
}

function pullRequestDecision(request: PullRequest, settings: TriggerSettings, facts: TriggerFacts): TriggerDecision {
  if (!settings.speculativeEnabled) return ignored("speculative-enabled is false");
  if (request.fork !== null && !facts.plansForkPullRequests)
    return ignored(
      `it comes from the fork ${quoted(request.fork)}, and plans for forks are not allowed (CADASTRE_PLAN_FORKS)`,
    );
  return (
    branchDecision(request.target, request, settings, facts) ??
    skipDecision(request.message) ??
    fileDecision(request, settings, facts) ?? { action: "plan" }
  );
}

function branchDecision(
  branch: string,
  event: VcsRepositoryEvent,
  settings: TriggerSettings,
  facts: TriggerFacts,
): TriggerDecision | undefined {
  const followed = settings.branch ?? event.defaultBranch ?? facts.defaultBranch;
  if (followed === undefined) return { action: "lookup", fact: "default-branch" };
  if (followed === null)
    return ignored("the repository's default branch is not known; set vcs-repo.branch on the workspace");
  if (followed === branch) return undefined;
  const whose = settings.branch === null ? "the default branch" : "the branch";
  const what = event.kind === "pull-request" ? "its target is" : "it is on";
  return ignored(`${what} the branch ${quoted(branch)}, and the workspace follows ${whose} ${quoted(followed)}`);
}

const skipMarks = ["[skip ci]", "[ci skip]"];

function skipDecision(message: string | null): TriggerDecision | undefined {
  const mark = skipMarks.find((each) => message?.toLowerCase().includes(each));
  return mark === undefined ? undefined : ignored(`its message contains ${mark}`);
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
  settings: TriggerSettings,
  facts: TriggerFacts,
): TriggerDecision | undefined {
  const filter = settings.fileTriggersEnabled ? fileFilterOf(settings) : undefined;
  if (filter === undefined) return undefined;
  const files = event.files ?? facts.files;
  if (files === undefined) return { action: "lookup", fact: "files" };
  if (files === null || files.length * filter.folders.length > comparisonsMax) return undefined;
  const [fits, isInFolder] = [globs(filter.patterns, comparisonsMax), inAnyFolder(filter.folders)];
  return files.some((file) => fits(file) || isInFolder(file)) ? undefined : ignored(filter.why);
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
