/** Pure rules of the site admin settings of organizations. */
import type { Identifier } from "../../../jsonapi/define.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";

export interface Named {
  readonly id: string;
  readonly nameKey: string;
}

export function consumerFaults(owner: Named, items: readonly Identifier[], found: readonly Named[]): Fault[] {
  const known = new Set(found.map(({ nameKey }) => nameKey));
  return items.flatMap(({ id: name }, position) => {
    const pointer = `/data/${position}/id`;
    if (!known.has(fold(name))) return [{ pointer, detail: `Organization '${name}' does not exist` }];
    return fold(name) === owner.nameKey ? [{ pointer, detail: "An organization can't be its own consumer" }] : [];
  });
}
