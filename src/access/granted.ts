/**
 * The proof of a check, and the one rule for refusing: whoever can't see a thing gets "not found"; whoever can see it but may
 * not do this is told which permission is missing, as "forbidden", or as "not found" where the specification lists no 403.
 */
import { AppError, notFound } from "../kernel/errors.ts";

/** Private, so that no literal has it and a copy by spreading loses it. */
declare class Proof<out Permission extends string> {
  // oxlint-disable-next-line no-unused-private-class-members -- only its type matters
  readonly #permission: Permission;
}

/** A row that was loaded for a caller and checked. The functions that write demand it, so that none can be called unchecked. */
export type Granted<Row, Permission extends string> = Row & Proof<Permission>;

/** What can be found by a check. No capability is called so: only its issuer makes the proof of one. */
export type Checked = `can-${string}` | `has-${string}` | "lease-ended";

export interface Check<Permission extends Checked> {
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
export function grant<Row extends object, Permission extends Checked>(
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

const idColumns = ["id", "runId", "workspaceId", "projectId", "oauthClientId", "organizationId"];

/** Whether a row is the thing with this id, or names it as the thing that it is in. */
export const belongsTo = (row: object, id: string): boolean =>
  idColumns.some((column) => (row as Readonly<Record<string, unknown>>)[column] === id);

/** A row in a granted thing carries the thing's proof: who may create it may fill it. Throws for a row of another thing. */
export function madeIn<Row extends object, Permission extends string>(
  parent: Granted<{ readonly id: string }, Permission>,
  row: Row,
): Granted<Row, Permission> {
  if (!belongsTo(row, parent.id)) throw new Error(`The proof for ${parent.id} was used for a row of something else.`);
  return row as Granted<Row, Permission>;
}
