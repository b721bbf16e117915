/**
 * The proof of a check, and the one rule for refusing: whoever can't see a thing gets "not found"; whoever can see it but may
 * not do this is told which permission is missing, as "forbidden", or as "not found" where the specification lists no 403.
 */
import { AppError, notFound } from "../kernel/errors.ts";

declare const proof: unique symbol;

/** A row that was loaded for a caller and checked. The functions that write demand it, so that none can be called unchecked. */
export type Granted<Row, Permission extends string> = Row & { readonly [proof]: Permission };

export interface Check<Permission extends string> {
  /** The thing, as a refusal names it: `project`. */
  readonly thing: string;
  readonly permission: Permission;
  readonly visible: boolean;
  readonly allowed: boolean;
  /** What is missing, as a refusal names it. */
  readonly needs: string;
  /** `hide` where the specification lists 404 and no 403 for the endpoint. */
  readonly otherwise?: "forbid" | "hide";
}

/** The caller may see the thing, but not do this to it; also where that is told as if there were none. */
export class Denied extends AppError {}

/** Raises `not-found` or `forbidden`. */
export function grant<Row extends object, Permission extends string>(
  row: Row,
  check: Check<Permission>,
): Granted<Row, Permission> {
  if (!check.visible) throw notFound(check.thing);
  if (!check.allowed) {
    const { thing, needs, permission, otherwise } = check;
    throw new Denied(
      otherwise === "hide" ? "not-found" : "forbidden",
      `You may see this ${thing} but not do this to it: it needs ${needs} (${permission}).`,
    );
  }
  return row as Granted<Row, Permission>;
}

/** What was made in a thing carries the proof by which it was made: whoever may make it may fill it. */
export function madeIn<Row extends object, Permission extends string>(
  _place: Granted<object, Permission>,
  row: Row,
): Granted<Row, Permission> {
  return row as Granted<Row, Permission>;
}
