/** Signed upload URLs. Engines upload without a token, so the URL is a credential and must never be logged. */
import type { Granted } from "../../../../access/granted.ts";
import type { Context } from "../../../shared/context.ts";
import { checkSignedUrl, type UrlSignature, signUrl } from "../../../shared/signed-urls.ts";
import type { StateContentKind } from "../kinds.ts";

export type StateUploadGrant = Granted<
  { readonly id: string; readonly kind: StateContentKind },
  "can-upload" | "can-create-state-versions"
>;

const paths: Record<StateContentKind, string> = { state: "upload", json: "json-upload" };

const signedParts = (id: string, kind: StateContentKind) => ["PUT", "state-versions", id, kind];

export function uploadUrl(
  context: Pick<Context, "vault" | "options">,
  id: string,
  kind: StateContentKind,
  expiresAt: string,
): string {
  const expires = String(Date.parse(expiresAt));
  const signature = signUrl(context, signedParts(id, kind), expires);
  return `${context.options.publicUrl}/api/v2/state-versions/${id}/${paths[kind]}?expires=${expires}&signature=${signature}`;
}

/** Throws `not-found` for an invalid signature, and `forbidden` for an expired URL. */
export function checkUploadUrl(
  context: Pick<Context, "vault">,
  id: string,
  kind: StateContentKind,
  signed: UrlSignature,
): StateUploadGrant {
  return checkSignedUrl(context, signedParts(id, kind), signed, {
    subject: { id, kind },
    permission: "can-upload",
    thing: "upload",
    expired: "This upload URL has expired. Create the state version again and use its new upload URL.",
  });
}
