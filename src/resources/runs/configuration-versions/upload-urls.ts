/** Signed, expiring URLs for uploading one archive. They are shown once, on creation, and must never be logged. */
import type { Granted } from "../../../access/granted.ts";
import type { Context } from "../../shared/context.ts";
import { checkSignedUrl, type UrlSignature, signUrl } from "../../shared/signed-urls.ts";

export type ConfigurationUploadGrant = Granted<{ readonly id: string }, "can-upload">;

const signedParts = (id: string) => ["PUT", "configuration-versions", id];

export function uploadUrl(
  context: Pick<Context, "vault" | "options">,
  { id, uploadExpiresAt }: { readonly id: string; readonly uploadExpiresAt: string },
): string {
  const expires = String(Date.parse(uploadExpiresAt));
  const signature = signUrl(context, signedParts(id), expires);
  return `${context.options.publicUrl}/api/v2/configuration-versions/${id}/upload?expires=${expires}&signature=${signature}`;
}

export function checkUploadUrl(
  context: Pick<Context, "vault">,
  id: string,
  signed: UrlSignature,
): ConfigurationUploadGrant {
  return checkSignedUrl(context, signedParts(id), signed, {
    subject: { id },
    permission: "can-upload",
    thing: "upload",
    expired: "This upload URL has expired. Create the configuration version again, and use its new URL.",
  });
}
