/**
 * The sum of grants. One function decides what a caller may do to a project or workspace, whether the grants come added up
 * by the database (a decision) or one by one with their records (an explanation).
 * See docs/decisions/0002-access-is-the-sum-of-grants.md.
 */
import type { Mask } from "./permission-set.ts";

export interface Grant<Source = unknown> {
  readonly mask: Mask;
  /** Where it comes from; only an explanation asks, a decision takes the bare mask. */
  readonly source?: Source;
}

/** What is held on one thing. */
export interface Access {
  readonly mask: Mask;
}

/** Per permission the highest value wins; nulls are levels at which the caller holds nothing. */
export function effective(...grants: readonly (Grant | Mask | null | undefined)[]): Access {
  let mask: Mask = 0;
  for (const grant of grants) {
    if (grant !== null && grant !== undefined) mask |= typeof grant === "number" ? grant : grant.mask;
  }
  return { mask };
}
