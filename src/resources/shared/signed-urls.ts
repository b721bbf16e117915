/** Signs and checks URLs that carry their own permission. They must never be logged. */
import { type CheckedPermission, authorize, type Granted } from "../../access/granted.ts";
import { forbidden } from "../../kernel/errors.ts";
import { nowMs } from "../../kernel/time.ts";
import type { Context } from "./context.ts";

export interface UrlSignature {
  readonly expires: string | undefined;
  readonly signature: string | undefined;
}

/** `expires`: in milliseconds. */
export const signUrl = ({ vault }: Pick<Context, "vault">, what: readonly string[], expires: string): string =>
  vault.sign([...what, expires].join("\n"));

interface SignedUrlGrant<Right extends object, Permission extends CheckedPermission> {
  readonly subject: Right;
  readonly permission: Permission;
  readonly thing: string;
  readonly expired: string;
}

/** Throws `not-found` for a wrong signature, and `forbidden` after the expiry. */
export function checkSignedUrl<Subject extends object, Permission extends CheckedPermission>(
  { vault }: Pick<Context, "vault">,
  what: readonly string[],
  { expires = "", signature = "" }: UrlSignature,
  { subject, permission, thing, expired }: SignedUrlGrant<Subject, Permission>,
): Granted<Subject, Permission> {
  const visible = vault.isSignature([...what, expires].join("\n"), signature);
  if (visible && Number(expires) < nowMs()) throw forbidden(expired);
  return authorize(subject, { thing, permission, visible, allowed: visible, needs: "a signed URL" });
}
