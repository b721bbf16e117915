/** Analyses the order in which locks were taken: violations of the documented order, and possible deadlocks. */
import { readFileSync } from "node:fs";
import { conflict, type Step } from "./witness.ts";

/** From docs/reference/lock-order.md. The line without tables stands for all others. */
export function writtenOrder(): string[][] {
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

const told = ({ from, to, label, organization }: Step) =>
  `${label}: holds ${from.table} (${from.purpose}), asks for ${to.table} (${to.purpose}); organization: ${organization ?? "not held"}`;

/** A write without the organization's exclusive lock that locks a table before one that it holds. */
export function departures(steps: readonly Step[], order: readonly string[][]): string[] {
  const rank = ranks(order);
  const isAlone = ({ organization }: Step) => organization === "change" || organization === "removal";
  return [...new Set(steps.filter((step) => !isAlone(step) && rank(step.to.table) < rank(step.from.table)).map(told))];
}

/** Cycles of writes that can run concurrently. */
export function circles(steps: readonly Step[], order: readonly string[][]): string[] {
  const rank = ranks(order);
  const others = othersIn(order);
  // A dependent row is locked only together with its parent. A user who is deleted without an organization's lock has no memberships.
  const among = different(
    steps.filter(
      ({ from, to, organization }) =>
        rank(from.table) < others &&
        rank(to.table) < others &&
        !(to.isFollowing && from.table === "users" && organization === undefined),
    ),
  );
  const found: Step[][] = [];
  const walk = (path: Step[]) => {
    const [first, last] = [path[0] as Step, path.at(-1) as Step];
    if (meets(last, first)) found.push(path);
    if (path.length === lengthMax) return;
    for (const next of among)
      if (meets(last, next) && path.every((step) => canBeAtOnce(step, next)) && !path.includes(next))
        walk([...path, next]);
  };
  for (const step of among) walk([step]);
  const isFeasible = (path: readonly Step[]) => path.length > 1 || canBeAtOnce(path[0] as Step, path[0] as Step);
  return [...new Set(found.filter(isFeasible).map((path) => path.map(told).toSorted().join("\n  ")))];
}

const lengthMax = 3;

const meets = (waiting: Step, holding: Step) =>
  waiting.to.table === holding.from.table && conflict(waiting.to.purpose, holding.from.purpose);

const canBeAtOnce = ({ organization: one }: Step, { organization: other }: Step) =>
  one === undefined || other === undefined || !conflict(one, other);

function different(steps: readonly Step[]): Step[] {
  const key = ({ from, to, organization }: Step) =>
    [from.table, from.purpose, to.table, to.purpose, organization].join();
  return [...new Map(steps.map((step) => [key(step), step])).values()];
}
