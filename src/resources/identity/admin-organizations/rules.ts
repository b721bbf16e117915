/** Pure rules of the site admin settings of organizations. */
import type { ResourceIdentifier } from "../../../jsonapi/define.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";

export interface OrganizationRef {
  readonly id: string;
  readonly nameKey: string;
}

export function consumerFaults(
  owner: OrganizationRef,
  items: readonly ResourceIdentifier[],
  found: readonly OrganizationRef[],
): Fault[] {
  const known = new Set(found.map(({ nameKey }) => nameKey));
  return items.flatMap(({ id: name }, position) => {
    const pointer = `/data/${position}/id`;
    if (!known.has(fold(name))) return [{ pointer, detail: `Organization '${name}' does not exist` }];
    return fold(name) === owner.nameKey ? [{ pointer, detail: "An organization can't be its own consumer" }] : [];
  });
}
