/** What both scripts are asked for in the same words: which combinations to run, and whether it is the whole. */
import { parseArgs } from "node:util";
import { type Engine, engines } from "./server.ts";

const shared = {
  quick: { type: "boolean", default: false },
  "if-go": { type: "boolean", default: false },
  only: { type: "string" },
  engine: { type: "string" },
} as const;

export interface Asked<Kind extends string> {
  /** Each engine with each of the other kinds, as far as they are wanted. */
  readonly combinations: readonly (readonly [Engine, Kind])[];
  readonly quick: boolean;
  readonly only: RegExp | undefined;
  /** Whether this is the whole run, from which the document is written. */
  readonly whole: boolean;
  readonly ifGo: boolean;
  /** The value of an option that only this script has. */
  readonly value: (option: string) => string | undefined;
}

/** `name` is the option that chooses among `kinds`; a quick run takes the embedded database and `quickly`. Raises an Error. */
export function readOptions<Kind extends string>(
  name: string,
  kinds: readonly Kind[],
  quickly: Kind,
  further: readonly string[] = [],
): Asked<Kind> {
  const own = Object.fromEntries([name, ...further].map((option) => [option, { type: "string" as const }]));
  const { values } = parseArgs({ options: { ...shared, ...own } });
  const value = (option: string) => (values as Record<string, unknown>)[option] as string | undefined;
  const quick = values.quick;
  const engine = values.engine ?? (quick ? "sqlite" : undefined);
  const kind = value(name) ?? (quick ? quickly : undefined);
  const combinations = engines
    .flatMap((one) => kinds.map((other) => [one, other] as const))
    .filter(([one, other]) => (engine ?? one) === one && (kind ?? other) === other);
  if (combinations.length === 0)
    throw new Error(`--engine is one of ${engines.join(", ")}, and --${name} one of ${kinds.join(", ")}.`);
  return {
    combinations,
    quick,
    only: values.only === undefined ? undefined : new RegExp(values.only),
    whole: engine === undefined && kind === undefined && values.only === undefined,
    ifGo: values["if-go"],
    value,
  };
}

/** So many at once, in their order, until all are done. */
export async function inTurn<Item>(
  atOnce: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
