/**
 * Does a run start? Pure: what happened, what the workspace watches, and what is known beside, to what is to be done, and the
 * sentence why. Nothing is decided elsewhere.
 */
import { expression, expressionFault, globs } from "../../../kernel/patterns.ts";
import { quoted } from "../../../kernel/text.ts";
import type { Happening, PullRequest, Push, TagPush } from "./happening.ts";

/** What a workspace's settings say about its repository. */
export interface Watch {
  readonly executionMode: string;
  /** Null: the repository's default branch. */
  readonly branch: string | null;
  readonly tagsRegex: string | null;
  readonly fileTriggersEnabled: boolean;
  readonly triggerPrefixes: readonly string[];
  readonly triggerPatterns: readonly string[];
  readonly workingDirectory: string | null;
  readonly speculativeEnabled: boolean;
  readonly queueAllRuns: boolean;
}

/** What neither the event nor the workspace tells. */
export interface Known {
  /** The repository's default branch; undefined where nobody has asked yet, null where asking was of no use. */
  readonly defaultBranch?: string | null | undefined;
  /** The files that changed; undefined where nobody has asked yet, null where asking was of no use. */
  readonly files?: readonly string[] | null | undefined;
  /** Whether somebody has ever queued a run by hand. */
  readonly hasManualRun: boolean;
  /** Whether the operator lets forks have plans. */
  readonly plansForks: boolean;
}

/**
 * `run`, or `plan` for a speculative one; `configuration`: it is fetched, so that somebody can start with it, and no run follows;
 * `ask`: it depends on something that is not known yet.
 */
export type Verdict =
  | { readonly does: "run" | "plan" }
  | { readonly does: "nothing"; readonly why: string }
  | { readonly does: "configuration"; readonly why: string }
  | { readonly does: "ask"; readonly what: "files" | "default-branch" };

const nothing = (why: string): Verdict => ({ does: "nothing", why });

export function decide(happening: Happening, watch: Watch, known: Known): Verdict {
  if (watch.executionMode === "local")
    return nothing("the workspace has the execution mode local, so its runs are executed where they are started");
  if (happening.kind === "pull-request") return onPullRequest(happening, watch, known);
  return (
    (happening.kind === "tag" ? tagObstacle(happening, watch) : pushObstacle(happening, watch, known)) ??
    afterwards(watch, known)
  );
}

function tagObstacle({ tag, isDeleted, message }: TagPush, { tagsRegex }: Watch): Verdict | undefined {
  if (isDeleted) return nothing(`the tag ${quoted(tag)} was deleted`);
  if (tagsRegex === null) return nothing("it is a tag, and the workspace has no tags-regex");
  const fault = expressionFault(tagsRegex);
  if (fault !== undefined) return nothing(`tags-regex can't be used: ${fault}`);
  if (!expression(tagsRegex)(tag)) return nothing(`the tag ${quoted(tag)} does not match tags-regex`);
  return skipped(message);
}

function pushObstacle(push: Push, watch: Watch, known: Known): Verdict | undefined {
  if (push.isDeleted) return nothing(`the branch ${quoted(push.branch)} was deleted`);
  if (watch.tagsRegex !== null) return nothing("the workspace has a tags-regex, so only tags start runs");
  return branchObstacle(push.branch, push, watch, known) ?? skipped(push.message) ?? fileObstacle(push, watch, known);
}

function onPullRequest(request: PullRequest, watch: Watch, known: Known): Verdict {
  if (!watch.speculativeEnabled) return nothing("speculative-enabled is false");
  if (request.fork !== null && !known.plansForks)
    return nothing(
      `it comes from a fork, ${quoted(request.fork)}, and plans of forks are not allowed (CADASTRE_PLAN_FORKS)`,
    );
  return (
    branchObstacle(request.target, request, watch, known) ??
    skipped(request.message) ??
    fileObstacle(request, watch, known) ?? { does: "plan" }
  );
}

function branchObstacle(branch: string, happening: Happening, watch: Watch, known: Known): Verdict | undefined {
  const followed = watch.branch ?? happening.defaultBranch ?? known.defaultBranch;
  if (followed === undefined) return { does: "ask", what: "default-branch" };
  if (followed === null)
    return nothing("the repository's default branch is not known; set vcs-repo.branch on the workspace");
  if (followed === branch) return undefined;
  const whose = watch.branch === null ? "the default branch" : "the branch";
  const what = happening.kind === "pull-request" ? "its target is" : "it is on";
  return nothing(`${what} the branch ${quoted(branch)}, and the workspace follows ${whose} ${quoted(followed)}`);
}

const skipMarks = ["[skip ci]", "[ci skip]"];

function skipped(message: string | null): Verdict | undefined {
  const mark = skipMarks.find((each) => message?.toLowerCase().includes(each));
  return mark === undefined ? undefined : nothing(`its message says ${mark}`);
}

/** The runs that a person has not begun wait until one was, unless all are to be queued. */
function afterwards({ queueAllRuns }: Watch, { hasManualRun }: Known): Verdict {
  if (queueAllRuns || hasManualRun) return { does: "run" };
  return { does: "configuration", why: "queue-all-runs is false and nobody has queued a run yet" };
}

/** Some 50 ms of the thread that answers requests. */
const comparisonsMax = 4_000_000;

/** A list of files that is not known, or too long to compare with the patterns, counts as a match. */
function fileObstacle(happening: Push | PullRequest, watch: Watch, known: Known): Verdict | undefined {
  const wanted = watch.fileTriggersEnabled ? wantedFiles(watch) : undefined;
  if (wanted === undefined) return undefined;
  const files = happening.files ?? known.files;
  if (files === undefined) return { does: "ask", what: "files" };
  if (files === null || files.length * wanted.folders.length > comparisonsMax) return undefined;
  const [fits, isBelow] = [globs(wanted.patterns, comparisonsMax), belowAny(wanted.folders)];
  return files.some((file) => fits(file) || isBelow(file)) ? undefined : nothing(wanted.why);
}

interface Wanted {
  readonly patterns: readonly string[];
  readonly folders: readonly string[];
  readonly why: string;
}

/** Undefined: any file. With patterns alone the working directory does not count; with prefixes it does. */
function wantedFiles({ triggerPatterns, triggerPrefixes, workingDirectory }: Watch): Wanted | undefined {
  const directory = normal(workingDirectory ?? "");
  if (triggerPrefixes.length > 0) {
    const folders = [...triggerPrefixes.map(normal), ...(directory === "" ? [] : [directory])];
    const names = [...(triggerPatterns.length > 0 ? ["trigger-patterns"] : []), "trigger-prefixes"];
    const beside = directory === "" ? "" : " or lies in the working directory";
    return { patterns: triggerPatterns, folders, why: `no changed file matches ${names.join(" or ")}${beside}` };
  }
  if (triggerPatterns.length > 0)
    return { patterns: triggerPatterns, folders: [], why: "no changed file matches trigger-patterns" };
  if (directory === "") return undefined;
  return {
    patterns: [],
    folders: [directory],
    why: `no changed file lies in the working directory ${quoted(directory)}`,
  };
}

/** `/modules/./vpc/` → `modules/vpc` */
const normal = (path: string): string =>
  path
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".")
    .join("/");

/** Whole segments: `modules` is not above `modules-old/main.tf`. */
function belowAny(folders: readonly string[]): (file: string) => boolean {
  return (file) => folders.some((folder) => folder === "" || file === folder || file.startsWith(`${folder}/`));
}
