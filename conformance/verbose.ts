/**
 * Reads what a Go test binary writes under `-test.v=test2json`: each of its own lines begins with the byte 0x16, so that
 * nothing that a test prints is taken for one.
 */

export type Outcome = "passed" | "failed" | "skipped";

export interface Check {
  /** `TestTeamsCreate/when_no_name_is_provided`; a test without subtests is its own check. */
  readonly name: string;
  readonly outcome: Outcome;
  /** What it printed, without the framing. */
  readonly output: string;
}

export interface TestOutput {
  /** The test and all its subtests, in the order in which they ended. */
  readonly checks: readonly Check[];
  /** What was printed outside of any test: a panic's stack, a timeout. */
  readonly rest: string;
}

/** What the tests say while they set up and tidy up, whatever came out of them. */
export const housekeeping = /_test\.go:\d+: (Warning: failed to list stacks for org|Skipping subscription upgrade)/;

const marker = "\u0016";
const outcomes: Readonly<Record<string, Outcome>> = { PASS: "passed", FAIL: "failed", SKIP: "skipped" };

export function readVerbose(text: string): TestOutput {
  const printed = new Map<string, string[]>();
  const ended: { name: string; outcome: Outcome }[] = [];
  let current = "";
  for (const line of text.split("\n")) {
    if (!line.startsWith(marker)) {
      printed.set(current, [...(printed.get(current) ?? []), line]);
      continue;
    }
    const frame = line.slice(marker.length);
    const [, running] = /^=== (?:RUN|NAME|CONT|PAUSE)\s+(\S*)/.exec(frame) ?? [];
    const [, verdict, name] = /^\s*--- (PASS|FAIL|SKIP): (\S+)/.exec(frame) ?? [];
    if (running !== undefined) current = running;
    if (verdict !== undefined && name !== undefined) {
      ended.push({ name, outcome: outcomes[verdict] ?? "failed" });
      current = name;
    }
  }
  const outputOf = (name: string) => (printed.get(name) ?? []).join("\n").trim();
  return {
    checks: ended.map(({ name, outcome }) => ({ name, outcome, output: outputOf(name) })),
    rest: outputOf(""),
  };
}

/** The subtests that have no subtests themselves; the test itself where it has none. */
export function leaves(checks: readonly Check[]): Check[] {
  return checks.filter(({ name }) => !checks.some((other) => other.name.startsWith(`${name}/`)));
}

/** `file_test.go:43: paging not supported yet` → `paging not supported yet` */
export function skipReason({ output }: Check): string {
  const line = output.split("\n").findLast((text) => /_test\.go:\d+: /.test(text) && !housekeeping.test(text));
  return line?.replace(/^.*?_test\.go:\d+: /, "").trim() ?? "no reason given";
}
