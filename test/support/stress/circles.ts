/** What can be said of locks from the order in which they were taken: who leaves the written order, and who could wait in a circle. */
import { readFileSync } from "node:fs";
import { conflict, type Step } from "./witness.ts";

/** The lines of the table in docs/reference/lock-order.md: the tables of each, in their order. One names none: it is about all others. */
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

/** Writes that are not alone in their organization, and yet ask for something that stands before what they hold. */
export function departures(steps: readonly Step[], order: readonly string[][]): string[] {
  const rank = ranks(order);
  const isAlone = ({ organization }: Step) => organization === "change" || organization === "removal";
  return [...new Set(steps.filter((step) => !isAlone(step) && rank(step.to.table) < rank(step.from.table)).map(told))];
}

/** Steps that lead from one to the next and back, of writes that can be under way at the same time. */
export function circles(steps: readonly Step[], order: readonly string[][]): string[] {
  const rank = ranks(order);
  const others = othersIn(order);
  // What hangs on things is held only by those who hold one of the things. And a user who goes while no organization is held is a
  // member of none: what would go with one is not there.
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

/** One waits for what the other holds. */
const meets = (waiting: Step, holding: Step) =>
  waiting.to.table === holding.from.table && conflict(waiting.to.purpose, holding.from.purpose);

const canBeAtOnce = ({ organization: one }: Step, { organization: other }: Step) =>
  one === undefined || other === undefined || !conflict(one, other);

function different(steps: readonly Step[]): Step[] {
  const key = ({ from, to, organization }: Step) =>
    [from.table, from.purpose, to.table, to.purpose, organization].join();
  return [...new Map(steps.map((step) => [key(step), step])).values()];
}
