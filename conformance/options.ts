/** The options that the scripts share: which combinations to run, and whether to write the document. */
import { parseArgs } from "node:util";

/** One dimension of the combinations, and its subset in a quick run. */
export interface Choice<Kind extends string> {
  readonly all: readonly Kind[];
  readonly quick: readonly Kind[];
}

type Choices<Kinds extends Record<string, string>> = { readonly [Name in keyof Kinds]: Choice<Kinds[Name]> };

export interface SelectedOptions<Kinds extends Record<string, string>> {
  /** The selected combinations. */
  readonly combinations: readonly Kinds[];
  readonly quick: boolean;
  readonly only: RegExp | undefined;
  /** Whether to write the document: all tests ran, in all combinations or, with `--write`, in the selected ones. */
  readonly writesDocument: boolean;
  /** The value of a script's own option. */
  readonly value: (option: string) => string | undefined;
}

/** Each dimension is an option with one value. Throws for unknown values. */
export function readOptions<Kinds extends Record<string, string>>(
  choices: Choices<Kinds>,
  further: readonly string[] = [],
): SelectedOptions<Kinds> {
  const names = Object.keys(choices);
  const own = Object.fromEntries([...names, ...further].map((name) => [name, { type: "string" as const }]));
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      write: { type: "boolean", default: false },
      ...own,
    },
  });
  const value = (option: string) => (values as Record<string, unknown>)[option] as string | undefined;
  const wanted = (name: string) => {
    const { all, quick } = choices[name] as Choice<string>;
    const kinds = value(name) === undefined && values.quick ? quick : all;
    const left = kinds.filter((kind) => (value(name) ?? kind) === kind);
    if (left.length === 0) throw new Error(`--${name} is one of ${all.join(", ")}.`);
    return left;
  };
  const combinations = names.reduce<Record<string, string>[]>(
    (some, name) => some.flatMap((one) => wanted(name).map((kind) => ({ ...one, [name]: kind }))),
    [{}],
  );
  return {
    combinations: combinations as Kinds[],
    quick: values.quick,
    only: values.only === undefined ? undefined : new RegExp(values.only),
    writesDocument:
      !values.quick && values.only === undefined && (values.write || names.every((name) => value(name) === undefined)),
    value,
  };
}

/** Runs with bounded concurrency, in order. */
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
