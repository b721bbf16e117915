/** The proof of a permission check, and the rule for refusals: "not found" for what the caller can't see, else "forbidden". */
import { AppError, notFound } from "../kernel/errors.ts";

/** A private member, so that no literal has it and spreading a row loses it. */
declare class Proof<out Permission extends string> {
  // oxlint-disable-next-line no-unused-private-class-members -- only its type matters
  readonly #permission: Permission;
}

/** Functions that write require it, so that none can be called unchecked. */
export type Granted<Row, Permission extends string> = Row & Proof<Permission>;

/** Without capability names: only a capability's issuer creates its proof. */
export type CheckedPermission = `can-${string}` | `has-${string}` | "lease-ended";

export interface PermissionCheck<Permission extends CheckedPermission> {
  readonly thing: string;
  readonly permission: Permission;
  readonly visible: boolean;
  readonly allowed: boolean;
  readonly needs: string;
  /** `hide` where the specification lists 404 and no 403 for the endpoint. */
  readonly whenDenied?: "forbid" | "hide";
}

export class PermissionDenied extends AppError {}

/** Throws `not-found` or `forbidden`. */
export function authorize<Row extends object, Permission extends CheckedPermission>(
  row: Row,
  check: PermissionCheck<Permission>,
): Granted<Row, Permission> {
  if (!check.visible) throw notFound(check.thing);
  if (!check.allowed) {
    const { thing, needs, permission } = check;
    throw new PermissionDenied(
      check.whenDenied === "hide" ? "not-found" : "forbidden",
      `You can see this ${thing}, but this action needs ${needs} (${permission}).`,
    );
  }
  return row as Granted<Row, Permission>;
}

const idColumns = ["id", "runId", "workspaceId", "projectId", "oauthClientId", "organizationId"];

export const belongsTo = (row: object, id: string): boolean =>
  idColumns.some((column) => (row as Readonly<Record<string, unknown>>)[column] === id);

/** Extends a resource's proof to a row inside it. Throws for a row of another resource. */
export function withProofOf<Row extends object, Permission extends string>(
  parent: Granted<{ readonly id: string }, Permission>,
  row: Row,
): Granted<Row, Permission> {
  if (!belongsTo(row, parent.id)) throw new Error(`The proof for ${parent.id} was used for a row of something else.`);
  return row as Granted<Row, Permission>;
}
