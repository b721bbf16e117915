/**
 * URLs that carry their own permission: whoever holds one may send one content of one state version, until it expires. Engines
 * send their state without a token, so the URL is signed. It is never logged.
 */
import type { Granted } from "../../../../access/granted.ts";
import type { Context } from "../../../shared/context.ts";
import { checkSignedUrl, type Signed, signUrl } from "../../../shared/signed-urls.ts";
import type { ContentKind } from "../kinds.ts";

/** For one content of the version with this id: by a URL of ours that has not expired, or by who may create the version. */
export type UploadRight = Granted<
  { readonly id: string; readonly kind: ContentKind },
  "can-upload" | "can-create-state-versions"
>;

const paths: Record<ContentKind, string> = { state: "upload", json: "json-upload" };

const arrivalOf = (id: string, kind: ContentKind) => ["PUT", "state-versions", id, kind];

export function uploadUrl(
  context: Pick<Context, "vault" | "options">,
  id: string,
  kind: ContentKind,
  expiresAt: string,
): string {
  const expires = String(Date.parse(expiresAt));
  const signature = signUrl(context, arrivalOf(id, kind), expires);
  return `${context.options.publicUrl}/api/v2/state-versions/${id}/${paths[kind]}?expires=${expires}&signature=${signature}`;
}

/** Raises `not-found` for a URL that we did not make, and `forbidden` for one that has expired. */
export function checkUploadUrl(
  context: Pick<Context, "vault">,
  id: string,
  kind: ContentKind,
  signed: Signed,
): UploadRight {
  return checkSignedUrl(context, arrivalOf(id, kind), signed, {
    right: { id, kind },
    permission: "can-upload",
    thing: "upload",
    expired: "This upload URL has expired. Create the state version again, and use its new URL.",
  });
}
