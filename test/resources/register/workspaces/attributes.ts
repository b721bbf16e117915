/** Every writable attribute of a workspace: its default, another value, the effect of null, and refused values. */
import { durationSentence } from "../projects/limits.ts";

export interface Plain {
  readonly name: string;
  readonly initially: unknown;
  /** Any other valid value. */
  readonly other: unknown;
  /** Whether null clears it; where it does not, null is refused like a wrong type. */
  readonly nullable: boolean;
  /** Other values in the document that depend on it. */
  readonly implies?: Readonly<Record<string, unknown>>;
}

const flag = (name: string, initially: boolean, implies?: Plain["implies"]): Plain => ({
  name,
  initially,
  other: !initially,
  nullable: false,
  ...(implies && { implies }),
});

/** Those without a rule that involves another attribute. */
export const plainAttributes: readonly Plain[] = [
  { name: "description", initially: null, other: "What it is for\n\u{1F600}", nullable: true },
  flag("allow-destroy-plan", true, { actions: { "is-destroyable": false } }),
  flag("auto-apply", false),
  flag("auto-apply-run-trigger", false),
  flag("file-triggers-enabled", true),
  { name: "trigger-prefixes", initially: [], other: ["/modules", "shared/"], nullable: false },
  { name: "trigger-patterns", initially: [], other: ["/modules/**/*", "**/net*"], nullable: false },
  flag("global-remote-state", false),
  flag("queue-all-runs", false),
  flag("speculative-enabled", true),
  flag("structured-run-output-enabled", true),
  { name: "working-directory", initially: null, other: "live/production", nullable: true },
];

const notFlags = [null, 1, 0, "true", "", [], {}];
const notTexts = [1, true, [], {}];

const refusedFlag = (name: string, sentence: string) => notFlags.map((value) => [name, value, name, sentence] as const);
const refusedText = (name: string, sentence: string) => notTexts.map((value) => [name, value, name, sentence] as const);

const long = (length: number) => "x".repeat(length);

/** Attribute, value, pointer inside the attributes, sentence. On creation and on update alike. */
export const refusedValues: readonly (readonly [string, unknown, string, string])[] = [
  ...refusedText("description", "Description must be a string"),
  ["description", long(1025), "description", "Description is too long (maximum is 1024 characters)"],
  ...refusedFlag("allow-destroy-plan", "Allow destroy plan must be true or false"),
  ...refusedFlag("auto-apply", "Auto apply must be true or false"),
  ...refusedFlag("auto-apply-run-trigger", "Auto apply run trigger must be true or false"),
  ...refusedFlag("file-triggers-enabled", "File triggers enabled must be true or false"),
  ...refusedFlag("global-remote-state", "Global remote state must be true or false"),
  ...refusedFlag("project-remote-state", "Project remote state must be true or false"),
  ...refusedFlag("queue-all-runs", "Queue all runs must be true or false"),
  ...refusedFlag("speculative-enabled", "Speculative enabled must be true or false"),
  ...refusedFlag("structured-run-output-enabled", "Structured run output enabled must be true or false"),
  [
    "hyok-enabled",
    true,
    "hyok-enabled",
    "Hyok enabled can't be true: the service does not support hold-your-own-key encryption",
  ],
  ...refusedFlag("operations", "Operations must be true or false"),
  ...refusedText("working-directory", "Working directory must be a string"),
  [
    "working-directory",
    "a/../b",
    "working-directory",
    "Working directory must stay inside the repository: '..' is not allowed",
  ],
  [
    "working-directory",
    "..",
    "working-directory",
    "Working directory must stay inside the repository: '..' is not allowed",
  ],
  ...[null, "a", 1, {}].map(
    (value) => ["trigger-prefixes", value, "trigger-prefixes", "Trigger prefixes must be an array"] as const,
  ),
  ["trigger-prefixes", ["a", 1], "trigger-prefixes/1", "Trigger prefixes must be a string"],
  ["trigger-prefixes", [""], "trigger-prefixes/0", "Trigger prefixes can't be blank"],
  ...[null, "a", 1, {}].map(
    (value) => ["trigger-patterns", value, "trigger-patterns", "Trigger patterns must be an array"] as const,
  ),
  ["trigger-patterns", [null], "trigger-patterns/0", "Trigger patterns must be a string"],
  ["execution-mode", "moon", "execution-mode", "Execution mode must be one of: remote, local, agent"],
  ["execution-mode", "Remote", "execution-mode", "Execution mode must be one of: remote, local, agent"],
  ["execution-mode", null, "execution-mode", "Execution mode must be one of: remote, local, agent"],
  ["agent-pool-id", 1, "agent-pool-id", "Agent pool id must be a string"],
  ["setting-overwrites", null, "setting-overwrites", "Setting overwrites must be an object"],
  ["setting-overwrites", true, "setting-overwrites", "Setting overwrites must be an object"],
  [
    "setting-overwrites",
    { "execution-mode": "remote" },
    "setting-overwrites/execution-mode",
    "Setting overwrites execution mode must be true or false",
  ],
  ...[1, true, {}, []].map(
    (value) =>
      [
        "auto-destroy-activity-duration",
        value,
        "auto-destroy-activity-duration",
        "Auto destroy activity duration must be a string",
      ] as const,
  ),
  ...["", "d", "0d", "0000h", "12345d", "1w", "1D", "-1d", "1.5d", " 1d", "1d ", "1"].map(
    (value) => ["auto-destroy-activity-duration", value, "auto-destroy-activity-duration", durationSentence] as const,
  ),
  ["auto-destroy-at", 5, "auto-destroy-at", "Auto destroy at must be a string"],
  ...["", "tomorrow", "2030-01-01", "2030-13-01T00:00:00Z", "2030-01-01T00:00:00"].map(
    (value) =>
      [
        "auto-destroy-at",
        value,
        "auto-destroy-at",
        "Auto destroy at must be a timestamp such as 2030-01-31T12:00:00Z",
      ] as const,
  ),
  ...[null, 1, "true"].map(
    (value) =>
      [
        "inherits-project-auto-destroy",
        value,
        "inherits-project-auto-destroy",
        "Inherits project auto destroy must be true or false",
      ] as const,
  ),
  ["vcs-repo", "acme/app", "vcs-repo", "Vcs repo must be an object"],
  ["vcs-repo", { identifier: 1 }, "vcs-repo/identifier", "Vcs repo identifier must be a string"],
  [
    "vcs-repo",
    { "ingress-submodules": "no" },
    "vcs-repo/ingress-submodules",
    "Vcs repo ingress submodules must be true or false",
  ],
  ["vcs-repo", { branch: 1 }, "vcs-repo/branch", "Vcs repo branch must be a string"],
  ["vcs-repo", { "tags-regex": 1 }, "vcs-repo/tags-regex", "Vcs repo tags regex must be a string"],
];

export const namesAccepted: readonly string[] = ["a", "A", "0", "-", "_", "x".repeat(90), "Net-work_9"];

/** Each with the expected error messages. */
export const namesRefused: readonly (readonly [unknown, string])[] = [
  ["", "Name can't be blank"],
  ["x".repeat(91), "Name is too long (maximum is 90 characters)"],
  ...["a b", "a.b", "a/b", "ä", "a\n", " a", "a%", "\u{1F600}"].map(
    (name) => [name, "Name may only contain letters, numbers, dashes and underscores"] as const,
  ),
  ...[null, 1, true, [], {}].map((name) => [name, "Name must be a string"] as const),
];
