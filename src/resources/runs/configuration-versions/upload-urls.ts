/**
 * URLs that carry their own permission: whoever holds one may send the archive of one configuration version, until it expires.
 * They are shown once, when the version is made, and never logged.
 */
import type { Granted } from "../../../access/granted.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";

/** That somebody came with a URL of ours that has not expired, for the archive of this version. */
export type UploadRight = Granted<{ readonly configurationVersionId: string }, "can-upload">;

const signedText = (id: string, expires: string): string => ["PUT", "configuration-versions", id, expires].join("\n");

export function uploadUrl(
  { vault, options }: Pick<Context, "vault" | "options">,
  { id, uploadExpiresAt }: { readonly id: string; readonly uploadExpiresAt: string },
): string {
  const expires = String(Date.parse(uploadExpiresAt));
  const signature = vault.sign(signedText(id, expires));
  return `${options.publicUrl}/api/v2/configuration-versions/${id}/upload?expires=${expires}&signature=${signature}`;
}

/** Raises `not-found` for a URL that we did not make, and `forbidden` for one that has expired. */
export function checkUploadUrl(
  { vault }: Pick<Context, "vault">,
  configurationVersionId: string,
  { expires, signature }: { readonly expires: string | undefined; readonly signature: string | undefined },
): UploadRight {
  if (!vault.isSignature(signedText(configurationVersionId, expires ?? ""), signature ?? "")) throw notFound("upload");
  if (Number(expires) < Date.now())
    throw new AppError(
      "forbidden",
      "This upload URL has expired. Create the configuration version again, and use its new URL.",
    );
  return { configurationVersionId } as UploadRight;
}
