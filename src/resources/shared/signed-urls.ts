/** URLs that carry their own permission: what is signed of one, and how it is checked. They are never logged. */
import { type Checked, grant, type Granted } from "../../access/granted.ts";
import { forbidden } from "../../kernel/errors.ts";
import { nowMs } from "../../kernel/time.ts";
import type { Context } from "./context.ts";

export interface Signed {
  readonly expires: string | undefined;
  readonly signature: string | undefined;
}

/** `what` names one thing and what may be done with it; `expires` is in milliseconds. */
export const signUrl = ({ vault }: Pick<Context, "vault">, what: readonly string[], expires: string): string =>
  vault.sign([...what, expires].join("\n"));

interface SignedRight<Right extends object, Permission extends Checked> {
  readonly right: Right;
  readonly permission: Permission;
  readonly thing: string;
  readonly expired: string;
}

/** Gives the proof of the right. Raises `not-found` for a URL that we did not make, and `forbidden` with the sentence for one that has expired. */
export function checkSignedUrl<Right extends object, Permission extends Checked>(
  { vault }: Pick<Context, "vault">,
  what: readonly string[],
  { expires = "", signature = "" }: Signed,
  { right, permission, thing, expired }: SignedRight<Right, Permission>,
): Granted<Right, Permission> {
  const visible = vault.isSignature([...what, expires].join("\n"), signature);
  if (visible && Number(expires) < nowMs()) throw forbidden(expired);
  return grant(right, { thing, permission, visible, allowed: visible, needs: "a signed URL" });
}
