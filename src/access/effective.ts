/**
 * The sum of grants: one function decides what a caller can do to a project or workspace, whether the database has added the grants
 * up (a decision) or returns them one by one (an explanation). See docs/decisions/0002-access-is-the-sum-of-grants.md.
 */
import type { Mask } from "./permission-set.ts";

export interface Grant<Source = unknown> {
  readonly mask: Mask;
  /** Where it comes from; set for explanations only. */
  readonly source?: Source;
}

export interface Access {
  readonly mask: Mask;
}

/** Per permission, the highest value wins. Null: nothing is granted at that level. */
export function effectiveAccess(...grants: readonly (Grant | Mask | null | undefined)[]): Access {
  let mask: Mask = 0;
  for (const grant of grants) {
    if (grant !== null && grant !== undefined) mask |= typeof grant === "number" ? grant : grant.mask;
  }
  return { mask };
}
