/** The source of each variable, and which one wins where a key has several sources. The server decides; this only sorts. Pure. */
import type { Resource } from "../../api/client.ts";

export interface Given {
  readonly variable: Resource<"vars">;
  /** The set that it comes from; the workspace itself where there is none. */
  readonly varset: Resource<"varsets"> | undefined;
  /** What wins over it, by name; undefined where it is in force. */
  readonly overriddenBy: string | undefined;
}

type Row = Pick<Resource<"vars">, "id" | "attributes" | "relationships">;

const slotOf = ({ attributes: { category, key } }: Row) => `${category} ${key}`;

export function ranked(
  inForce: readonly Resource<"vars">[],
  own: readonly Resource<"vars">[],
  sets: readonly Resource<"varsets">[],
  included: readonly any[],
): Given[] {
  const setById = new Map(sets.map((varset) => [varset.id, varset]));
  const setOf = (variable: Row) => setById.get(variable.relationships.varset?.data?.id ?? "");
  const winners = new Map(inForce.map((variable) => [slotOf(variable), variable]));
  const all = new Map<string, Resource<"vars">>();
  const ofSets = included.filter((one): one is Resource<"vars"> => one.type === "vars");
  for (const variable of [...inForce, ...own, ...ofSets]) all.set(variable.id, variable);
  return [...all.values()]
    .map((variable) => {
      const winner = winners.get(slotOf(variable));
      const isInForce = winner === undefined || winner.id === variable.id;
      return {
        variable,
        varset: setOf(variable),
        overriddenBy: isInForce ? undefined : (setOf(winner)?.attributes.name ?? "this workspace"),
      };
    })
    .toSorted(
      (one, other) =>
        compare(one.variable.attributes.key, other.variable.attributes.key) ||
        compare(one.variable.attributes.category, other.variable.attributes.category) ||
        Number(one.overriddenBy !== undefined) - Number(other.overriddenBy !== undefined),
    );
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
