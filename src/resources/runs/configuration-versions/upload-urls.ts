/**
 * URLs that carry their own permission: whoever holds one may send the archive of one configuration version, until it expires.
 * They are shown once, when the version is made, and never logged.
 */
import type { Granted } from "../../../access/granted.ts";
import type { Context } from "../../shared/context.ts";
import { checkSignedUrl, type Signed, signUrl } from "../../shared/signed-urls.ts";

/** That somebody came with a URL of ours that has not expired, for the archive of this version. */
export type UploadRight = Granted<{ readonly id: string }, "can-upload">;

const arrivalOf = (id: string) => ["PUT", "configuration-versions", id];

export function uploadUrl(
  context: Pick<Context, "vault" | "options">,
  { id, uploadExpiresAt }: { readonly id: string; readonly uploadExpiresAt: string },
): string {
  const expires = String(Date.parse(uploadExpiresAt));
  const signature = signUrl(context, arrivalOf(id), expires);
  return `${context.options.publicUrl}/api/v2/configuration-versions/${id}/upload?expires=${expires}&signature=${signature}`;
}

/** Raises `not-found` for a URL that we did not make, and `forbidden` for one that has expired. */
export function checkUploadUrl(context: Pick<Context, "vault">, id: string, signed: Signed): UploadRight {
  return checkSignedUrl(context, arrivalOf(id), signed, {
    right: { id },
    permission: "can-upload",
    thing: "upload",
    expired: "This upload URL has expired. Create the configuration version again, and use its new URL.",
  });
}
