/** Sums grants, for decisions and for explanations. See docs/decisions/0002-access-is-the-sum-of-grants.md. */
import type { Mask } from "./permission-set.ts";

export interface Grant<Source = unknown> {
  readonly mask: Mask;
  readonly source?: Source;
}

export interface Access {
  readonly mask: Mask;
}

export function effectiveAccess(...grants: readonly (Grant | Mask | null | undefined)[]): Access {
  let mask: Mask = 0;
  for (const grant of grants) {
    if (grant !== null && grant !== undefined) mask |= typeof grant === "number" ? grant : grant.mask;
  }
  return { mask };
}
