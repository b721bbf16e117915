/** The absolute URLs that a state version's document shows. */
import { actorId } from "../../../access/actor.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { Context } from "../../shared/context.ts";
import type { StateVersionUrls } from "./definition.ts";
import { uploadUrl } from "./arrival/upload-urls.ts";

/** An upload URL is a permission: only whoever made the version is shown one, and only while it is good for something. */
export function urlsOf(
  version: StateVersionTable,
  context: Pick<Context, "actor" | "vault" | "options">,
): StateVersionUrls {
  const [pending, finalized] = [version.status === "pending", version.status === "finalized"];
  const base = `${context.options.publicUrl}/api/v2/state-versions/${version.id}`;
  const expiresAt = version.createdById === actorId(context.actor) ? version.uploadExpiresAt : null;
  return {
    download: finalized ? `${base}/download` : null,
    jsonDownload: finalized && version.hasJson === 1 ? `${base}/json-download` : null,
    upload: pending && expiresAt !== null ? uploadUrl(context, version.id, "state", expiresAt) : null,
    jsonUpload:
      (pending || finalized) && version.hasJson === 0 && expiresAt !== null
        ? uploadUrl(context, version.id, "json", expiresAt)
        : null,
  };
}
