/** Parses the output of a Go test binary under `-test.v=test2json`, which marks its own lines with the byte 0x16. */

export type Outcome = "passed" | "failed" | "skipped";

export interface Check {
  /** `TestTeamsCreate/when_no_name_is_provided`; a test without subtests is its own check. */
  readonly name: string;
  readonly outcome: Outcome;
  /** Its output without the framing. */
  readonly output: string;
}

export interface TestOutput {
  /** The test and its subtests, in the order in which they ended. */
  readonly checks: readonly Check[];
  /** Output outside of tests, such as a panic or a timeout. */
  readonly rest: string;
}

/** Setup and cleanup output of the tests. */
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

/** The leaf subtests, or the test itself. */
export function leaves(checks: readonly Check[]): Check[] {
  return checks.filter(({ name }) => !checks.some((other) => other.name.startsWith(`${name}/`)));
}

/** `file_test.go:43: paging not supported yet` → `paging not supported yet` */
export function skipReason({ output }: Check): string {
  const line = output.split("\n").findLast((text) => /_test\.go:\d+: /.test(text) && !housekeeping.test(text));
  return line?.replace(/^.*?_test\.go:\d+: /, "").trim() ?? "no reason given";
}
