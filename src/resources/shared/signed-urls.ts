/** URLs that carry their own permission: what is signed of one, and how it is checked. They are never logged. */
import { forbidden, notFound } from "../../kernel/errors.ts";
import { nowMs } from "../../kernel/time.ts";
import type { Context } from "./context.ts";

export interface Signed {
  readonly expires: string | undefined;
  readonly signature: string | undefined;
}

/** `what` names one thing and what may be done with it; `expires` is in milliseconds. */
export const signUrl = ({ vault }: Pick<Context, "vault">, what: readonly string[], expires: string): string =>
  vault.sign([...what, expires].join("\n"));

/** Raises `not-found` for a URL that we did not make, and `forbidden` with the sentence for one that has expired. */
export function checkSignedUrl(
  { vault }: Pick<Context, "vault">,
  what: readonly string[],
  { expires = "", signature = "" }: Signed,
  { thing, expired }: { readonly thing: string; readonly expired: string },
): void {
  if (!vault.isSignature([...what, expires].join("\n"), signature)) throw notFound(thing);
  if (Number(expires) < nowMs()) throw forbidden(expired);
}
