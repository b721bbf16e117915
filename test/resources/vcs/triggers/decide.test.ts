/** Whether an event starts a run, and why not: a table of cases, and a simple reimplementation of the rules. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  type TriggerFacts,
  type TriggerDecision,
  type TriggerSettings,
} from "../../../../src/resources/vcs/triggers/decide.ts";
import {
  type VcsRepositoryEvent,
  eventLabel,
  unknownSender,
  type PullRequest,
  type Push,
  type TagPush,
} from "../../../../src/resources/vcs/triggers/repository-event.ts";
import { deep, seed } from "../../../support/depth.ts";

const sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b";
const common = {
  sha,
  message: "A change" as string | null,
  commitUrl: null,
  compareUrl: null,
  sender: unknownSender,
  defaultBranch: "main" as string | null,
};
const push: Push = { ...common, kind: "push", branch: "main", before: null, isDeleted: false, files: ["main.tf"] };
const tag: TagPush = { ...common, kind: "tag", tag: "v1.2.0", isDeleted: false };
const request: PullRequest = {
  ...common,
  kind: "pull-request",
  number: 7,
  title: "A change",
  body: null,
  url: null,
  source: "feature",
  target: "main",
  targetSha: null,
  fork: null,
  ref: null,
  files: null,
};
const defaultSettings: TriggerSettings = {
  executionMode: "remote",
  branch: null,
  tagsRegex: null,
  fileTriggersEnabled: true,
  triggerPrefixes: [],
  triggerPatterns: [],
  workingDirectory: null,
  speculativeEnabled: true,
  queueAllRuns: true,
};
const defaultFacts: TriggerFacts = { hasManualRun: false, plansForkPullRequests: false };

const run: TriggerDecision = { action: "run" };
const plan: TriggerDecision = { action: "plan" };
const ignored = (why: string): TriggerDecision => ({ action: "ignore", why });
const lookup = (fact: "files" | "default-branch"): TriggerDecision => ({ action: "lookup", fact });

type Case = readonly [string, VcsRepositoryEvent, Partial<TriggerSettings>, TriggerDecision, Partial<TriggerFacts>?];

const patterns = { triggerPatterns: ["modules/**/*.tf"] };
const prefixes = { triggerPrefixes: ["/modules/"] };
const inProd = { workingDirectory: "prod" };
const touching = (...files: string[]): Push => ({ ...push, files });
const noPattern = ignored("no changed file matches trigger-patterns");

const cases: readonly Case[] = [
  ["a push to the default branch", push, {}, run],
  ["a push to the branch that was set", { ...push, branch: "dev" }, { branch: "dev" }, run],
  [
    "a push elsewhere",
    { ...push, branch: "dev" },
    {},
    ignored("it is on the branch 'dev', and the workspace follows the default branch 'main'"),
  ],
  [
    "a push to the default branch where another was set",
    push,
    { branch: "dev" },
    ignored("it is on the branch 'main', and the workspace follows the branch 'dev'"),
  ],
  ["an unknown default branch", { ...push, defaultBranch: null }, {}, lookup("default-branch")],
  ["a default branch that was looked up", { ...push, defaultBranch: null }, {}, run, { defaultBranch: "main" }],
  [
    "a default branch that could not be looked up",
    { ...push, defaultBranch: null },
    {},
    ignored("the repository's default branch is not known; set vcs-repo.branch on the workspace"),
    { defaultBranch: null },
  ],
  ["a branch that was deleted", { ...push, isDeleted: true }, {}, ignored("the branch 'main' was deleted")],
  [
    "a local workspace",
    push,
    { executionMode: "local" },
    ignored("the workspace has the execution mode local, so runs are executed on the machine that starts them"),
  ],
  ["[skip ci]", { ...push, message: "Docs [skip ci]" }, {}, ignored("its message contains [skip ci]")],
  ["[CI Skip] further down", { ...push, message: "Docs\n\n[CI Skip]" }, {}, ignored("its message contains [ci skip]")],
  ["an unknown message", { ...push, message: null }, {}, run],

  ["no patterns, no prefixes, no directory", touching("docs/a.md"), {}, run],
  ["an empty push to such a workspace", touching(), {}, run],
  [
    "files that match nothing, with file triggers disabled",
    touching("a"),
    { ...patterns, fileTriggersEnabled: false },
    run,
  ],
  ["a pattern that matches", touching("a.md", "modules/vpc/main.tf"), patterns, run],
  ["no pattern that matches", touching("a.md", "modules/README.md"), patterns, noPattern],
  ["patterns alone: the directory does not count", touching("prod/main.tf"), { ...patterns, ...inProd }, noPattern],
  ["an empty push with file triggers", touching(), patterns, noPattern],
  ["a prefix that matches", touching("modules/a.md"), prefixes, run],
  ["a prefix that is the file", touching("modules"), prefixes, run],
  [
    "a prefix that is not a folder",
    touching("modules-old/a"),
    prefixes,
    ignored("no changed file matches trigger-prefixes"),
  ],
  ["a prefix that is the root", touching("a"), { triggerPrefixes: ["/"] }, run],
  ["prefixes, and the directory", touching("prod/a"), { ...prefixes, ...inProd }, run],
  [
    "neither of them",
    touching("test/a"),
    { ...prefixes, ...inProd },
    ignored("no changed file matches trigger-prefixes or is in the working directory"),
  ],
  ["prefixes and patterns: either", touching("modules/x"), { ...prefixes, triggerPatterns: ["*.md"] }, run],
  [
    "prefixes and patterns: none",
    touching("x"),
    { ...prefixes, triggerPatterns: ["*.md"] },
    ignored("no changed file matches trigger-patterns or trigger-prefixes"),
  ],
  ["the directory", touching("prod/deep/a"), { workingDirectory: "./prod/" }, run],
  [
    "not the directory",
    touching("production/a"),
    inProd,
    ignored("no changed file is in the working directory 'prod'"),
  ],
  ["unknown files", { ...push, files: null }, patterns, lookup("files")],
  ["files that were looked up", { ...push, files: null }, patterns, noPattern, { files: ["a"] }],
  ["files that could not be looked up count as a match", { ...push, files: null }, patterns, run, { files: null }],
  ["unknown files if any file matches", { ...push, files: null }, {}, run],
  [
    "too many comparisons count as a match",
    touching(...Array.from({ length: 100 }, (_, at) => `${"a".repeat(1000)}${at}`)),
    { triggerPatterns: Array.from({ length: 100 }, () => "*a".repeat(128)) },
    run,
  ],
  [
    "too many files for the prefixes count as a match",
    touching(...Array.from({ length: 50_000 }, (_, at) => `${at}`)),
    { triggerPrefixes: Array.from({ length: 100 }, () => "modules") },
    run,
  ],

  ["a tag without tags-regex", tag, {}, ignored("it is a tag, and the workspace has no tags-regex")],
  ["a tag that matches, whatever the files", tag, { ...patterns, tagsRegex: "^v\\d+\\.\\d+" }, run],
  ["a tag that does not", tag, { tagsRegex: "^release-" }, ignored("the tag 'v1.2.0' does not match tags-regex")],
  ["a tag that was deleted", { ...tag, isDeleted: true }, { tagsRegex: "v" }, ignored("the tag 'v1.2.0' was deleted")],
  [
    "a push with a tags-regex",
    push,
    { tagsRegex: "v" },
    ignored("the workspace has a tags-regex, so only tags start runs"),
  ],
  [
    "an invalid expression from before validation",
    tag,
    { tagsRegex: "(?=v)" },
    ignored("tags-regex can't be used: invalid or unsupported Perl syntax: '(?='"),
  ],

  ["a pull request", request, {}, plan],
  ["a pull request with a tags-regex", request, { tagsRegex: "v" }, plan],
  ["a pull request before a manual run", request, { queueAllRuns: false }, plan],
  [
    "a pull request with speculative plans disabled",
    request,
    { speculativeEnabled: false },
    ignored("speculative-enabled is false"),
  ],
  [
    "a pull request to another branch",
    { ...request, target: "dev" },
    {},
    ignored("its target is the branch 'dev', and the workspace follows the default branch 'main'"),
  ],
  [
    "a pull request from a fork",
    { ...request, fork: "eve/network" },
    {},
    ignored("it comes from the fork 'eve/network', and plans for forks are not allowed (CADASTRE_PLAN_FORKS)"),
  ],
  [
    "a pull request from an allowed fork",
    { ...request, fork: "eve/network" },
    {},
    plan,
    { plansForkPullRequests: true },
  ],
  ["a pull request with file triggers", request, patterns, lookup("files")],
  ["a pull request without matching files", request, patterns, noPattern, { files: ["README.md"] }],
  [
    "a pull request with [ci skip]",
    { ...request, message: "[ci skip]" },
    {},
    ignored("its message contains [ci skip]"),
  ],

  [
    "a push before a manual run",
    push,
    { queueAllRuns: false },
    { action: "configuration", why: "queue-all-runs is false and nobody has queued a run yet" },
  ],
  ["a push after a manual run", push, { queueAllRuns: false }, run, { hasManualRun: true }],
];

describe("decide", () => {
  it("uses bounded CPU time for any number of files and patterns", () => {
    const costOf = (files: number) => {
      const event = touching(...Array.from({ length: files }, () => `${"a".repeat(2000)}b`));
      const triggerPatterns = Array.from({ length: 100 }, () => "*a".repeat(128));
      const before = process.threadCpuUsage().user;
      expect(decide(event, { ...defaultSettings, triggerPatterns }, defaultFacts)).toEqual(run);
      return process.threadCpuUsage().user - before;
    };
    const few = Math.max(costOf(1), costOf(1));
    expect(costOf(64)).toBeLessThan(8 * few);
  });

  it.each(cases.map((each) => ({ name: each[0], each })))("$name", ({ each }) => {
    const [, event, settings, decision, facts = {}] = each;
    expect(decide(event, { ...defaultSettings, ...settings }, { ...defaultFacts, ...facts })).toEqual(decision);
  });

  it("decides like the simple reimplementation", () => {
    fc.assert(
      fc.property(anyEvent, anySettings, anyFacts, (event, settings, facts) => {
        expect(decide(event, settings, facts).action).toBe(decideSimply(event, settings, facts));
      }),
      { seed, numRuns: deep(3000, 200_000) },
    );
  });
});

describe("eventLabel", () => {
  it("names the kind and the commit", () => {
    expect([push, tag, request].map(eventLabel)).toEqual([
      "push 9f86d08",
      "tag v1.2.0 (9f86d08)",
      "pull request 7 (9f86d08)",
    ]);
  });
});

const word = fc.constantFrom("main", "dev");
const file = fc.constantFrom("a", "a/b", "a/b/c.tf", "ab/c", "c.tf");
const files = fc.option(fc.array(file, { maxLength: 3 }));
const message = fc.constantFrom(null, "fine", "x [skip ci]", "[CI SKIP] x", "skip ci");
const anyEvent: fc.Arbitrary<VcsRepositoryEvent> = fc.oneof(
  fc
    .record({ branch: word, defaultBranch: fc.option(word), isDeleted: fc.boolean(), files, message })
    .map((part) => ({ ...push, ...part })),
  fc
    .record({ tag: fc.constantFrom("v1", "w1"), isDeleted: fc.boolean(), message })
    .map((part) => ({ ...tag, ...part })),
  fc
    .record({ target: word, defaultBranch: fc.option(word), fork: fc.option(fc.constant("eve/x")), message })
    .map((part) => ({ ...request, ...part })),
);
const anySettings: fc.Arbitrary<TriggerSettings> = fc.record({
  executionMode: fc.constantFrom("remote", "agent", "local"),
  branch: fc.option(word),
  tagsRegex: fc.option(fc.constantFrom("^v", "1")),
  fileTriggersEnabled: fc.boolean(),
  triggerPrefixes: fc.array(fc.constantFrom("a", "/a/", "/", "a/b", "c.tf"), { maxLength: 2 }),
  triggerPatterns: fc.array(fc.constantFrom("a", "*.tf", "**/*.tf", "a/*"), { maxLength: 2 }),
  workingDirectory: fc.option(fc.constantFrom("", "a", "/a/b/")),
  speculativeEnabled: fc.boolean(),
  queueAllRuns: fc.boolean(),
});
const anyFacts: fc.Arbitrary<TriggerFacts> = fc.record({
  defaultBranch: fc.option(fc.option(word), { nil: undefined }),
  files: fc.option(files, { nil: undefined }),
  hasManualRun: fc.boolean(),
  plansForkPullRequests: fc.boolean(),
});

const patternsByHand: Record<string, RegExp> = {
  a: /^a$/,
  "*.tf": /^[^/]*\.tf$/,
  "**/*.tf": /\.tf$/,
  "a/*": /^a\/[^/]*$/,
};
const foldersByHand: Record<string, RegExp> = {
  a: /^a(\/|$)/,
  "/a/": /^a(\/|$)/,
  "/": /^/,
  "a/b": /^a\/b(\/|$)/,
  "/a/b/": /^a\/b(\/|$)/,
  "c.tf": /^c\.tf(\/|$)/,
};

/** The rules one after another, without regard to speed or messages. */
function decideSimply(
  event: VcsRepositoryEvent,
  settings: TriggerSettings,
  facts: TriggerFacts,
): TriggerDecision["action"] {
  if (settings.executionMode === "local") return "ignore";
  if (event.kind !== "pull-request" && event.isDeleted) return "ignore";
  if (event.kind === "push" && settings.tagsRegex !== null) return "ignore";
  if (event.kind === "tag" && settings.tagsRegex === null) return "ignore";
  if (event.kind === "tag" && !new RegExp(settings.tagsRegex ?? "").test(event.tag)) return "ignore";
  if (event.kind === "pull-request" && !settings.speculativeEnabled) return "ignore";
  if (event.kind === "pull-request" && event.fork !== null && !facts.plansForkPullRequests) return "ignore";
  if (event.kind !== "tag") {
    const on = event.kind === "push" ? event.branch : event.target;
    let follows = settings.branch;
    if (follows === null) follows = event.defaultBranch;
    if (follows === null && facts.defaultBranch === undefined) return "lookup";
    if (follows === null) follows = facts.defaultBranch ?? null;
    if (follows !== on) return "ignore";
  }
  if (/\[(skip ci|ci skip)\]/i.test(event.message ?? "")) return "ignore";
  if (event.kind !== "tag" && settings.fileTriggersEnabled) {
    const directory = settings.workingDirectory || undefined;
    const matchers: RegExp[] = settings.triggerPatterns.map((pattern) => patternsByHand[pattern]!);
    matchers.push(...settings.triggerPrefixes.map((prefix) => foldersByHand[prefix]!));
    const directoryCounts = settings.triggerPrefixes.length > 0 || settings.triggerPatterns.length === 0;
    if (directory !== undefined && directoryCounts) matchers.push(foldersByHand[directory]!);
    if (matchers.length > 0) {
      const changed = event.files === null ? facts.files : event.files;
      if (changed === undefined) return "lookup";
      if (changed !== null && !changed.some((path) => matchers.some((matcher) => matcher.test(path)))) return "ignore";
    }
  }
  if (event.kind === "pull-request") return "plan";
  return settings.queueAllRuns || facts.hasManualRun ? "run" : "configuration";
}
