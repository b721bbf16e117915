/** Analyses the order in which locks were taken: violations of the documented order, and possible deadlocks. */
import { readFileSync } from "node:fs";
import { doConflict, type LockStep } from "./lock-recorder.ts";

/** From docs/reference/lock-order.md. The line without tables stands for all others. */
export function documentedOrder(): string[][] {
  const document = readFileSync("docs/reference/lock-order.md", "utf8");
  return [...document.matchAll(/^\| \d+ \|([^|]*)\|/gm)].map(([, cell = ""]) =>
    [...cell.matchAll(/`([a-z_]+)`/g)].map(([, table]) => table as string),
  );
}

function ranks(order: readonly string[][]): (table: string) => number {
  const known = new Map(order.flatMap((tables, rank) => tables.map((table) => [table, rank] as const)));
  return (table) => known.get(table) ?? othersIn(order);
}

const othersIn = (order: readonly string[][]): number => order.findIndex((tables) => tables.length === 0);

const describeStep = ({ from, to, label, organization }: LockStep) =>
  `${label}: holds ${from.table} (${from.purpose}), requests ${to.table} (${to.purpose}); organization: ${organization ?? "not held"}`;

/** A write without the organization's exclusive lock that locks a table before one that it holds. */
export function orderViolations(steps: readonly LockStep[], order: readonly string[][]): string[] {
  const rank = ranks(order);
  const isExclusive = ({ organization }: LockStep) => organization === "change" || organization === "removal";
  return [
    ...new Set(
      steps.filter((step) => !isExclusive(step) && rank(step.to.table) < rank(step.from.table)).map(describeStep),
    ),
  ];
}

/** Cycles of writes that can run concurrently. */
export function cycles(steps: readonly LockStep[], order: readonly string[][]): string[] {
  const rank = ranks(order);
  const others = othersIn(order);
  // A dependent row is locked only together with its parent. A user who is deleted without an organization's lock has no memberships.
  const among = distinct(
    steps.filter(
      ({ from, to, organization }) =>
        rank(from.table) < others &&
        rank(to.table) < others &&
        !(to.isCascaded && from.table === "users" && organization === undefined),
    ),
  );
  const found: LockStep[][] = [];
  const walk = (path: LockStep[]) => {
    const [first, last] = [path[0] as LockStep, path.at(-1) as LockStep];
    if (waitsFor(last, first)) found.push(path);
    if (path.length === cycleLengthMax) return;
    for (const next of among)
      if (waitsFor(last, next) && path.every((step) => canRunConcurrently(step, next)) && !path.includes(next))
        walk([...path, next]);
  };
  for (const step of among) walk([step]);
  const isFeasible = (path: readonly LockStep[]) =>
    path.length > 1 || canRunConcurrently(path[0] as LockStep, path[0] as LockStep);
  return [...new Set(found.filter(isFeasible).map((path) => path.map(describeStep).toSorted().join("\n  ")))];
}

const cycleLengthMax = 3;

const waitsFor = (waiting: LockStep, holding: LockStep) =>
  waiting.to.table === holding.from.table && doConflict(waiting.to.purpose, holding.from.purpose);

const canRunConcurrently = ({ organization: one }: LockStep, { organization: other }: LockStep) =>
  one === undefined || other === undefined || !doConflict(one, other);

function distinct(steps: readonly LockStep[]): LockStep[] {
  const key = ({ from, to, organization }: LockStep) =>
    [from.table, from.purpose, to.table, to.purpose, organization].join();
  return [...new Map(steps.map((step) => [key(step), step])).values()];
}
