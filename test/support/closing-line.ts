/** Test reporter: one line for each project, then the retried tests and the totals. */
import type { Reporter, TestModule, TestSpecification } from "vitest/node";

export default class ClosingLine implements Reporter {
  readonly #pending = new Map<string, number>();
  readonly #finished = new Map<string, TestModule[]>();
  #startedAt = 0;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#startedAt = performance.now();
    for (const { project } of specifications)
      this.#pending.set(project.name, (this.#pending.get(project.name) ?? 0) + 1);
  }

  onTestModuleEnd(module: TestModule): void {
    const { name } = module.project;
    const pending = (this.#pending.get(name) ?? 1) - 1;
    this.#pending.set(name, pending);
    this.#finished.set(name, [...(this.#finished.get(name) ?? []), module]);
    if (pending > 0) return;
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0);
    console.log(`${name.padEnd(8)} ${summaryOf(this.#finished.get(name) ?? [])}, ${seconds} s from the start`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (test.diagnostic()?.flaky) console.log(`passed on retry: ${module.relativeModuleId} > ${test.fullName}`);
      }
    }
    console.log(`\n${summaryOf(modules)}`);
  }
}

function summaryOf(modules: readonly TestModule[]): string {
  const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) count[test.result().state] += 1;
    if (module.errors().length > 0) count.failed += 1;
  }
  const skipped = count.skipped + count.pending;
  return `${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
