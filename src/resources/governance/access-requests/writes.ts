/** Creation and execution of access requests for access offers, in their transaction. */
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import type { Context } from "../../shared/context.ts";
import type { AccessRequestView } from "./definition.ts";

export interface RequestFromOffer {
  readonly offerId: string;
  /** With `$user` replaced. */
  readonly changes: readonly ParsedChange[];
  readonly reason: string;
  readonly durationSeconds: number;
  /** Copied to the request: members of these teams can approve it. */
  readonly approverTeamIds: readonly string[];
  /** The offer's last writer, who must be allowed to make the changes. Throws `conflict` if not. */
  readonly executor: Actor;
}

/**
 * A pending request of `context.actor`. `organization` is locked with `removal`, as `loadOrganization` does. Throws `conflict` above 50
 * pending requests, or if the executor can't make a change any more.
 */
export async function createRequestFromOffer(
  _tx: Tx,
  _context: Context,
  _organization: OrganizationView,
  _offered: RequestFromOffer,
): Promise<AccessRequestView> {
  throw new Error("not implemented yet");
}

/**
 * Executes the changes at once, as the executor, and returns the approved request of `context.actor`. Throws `forbidden` if a rule refuses
 * a change, and `conflict` if the executor can't make one any more; the caller's transaction then ends, so that no request remains.
 */
export async function executeBreakGlass(
  _tx: Tx,
  _context: Context,
  _organization: OrganizationView,
  _offered: RequestFromOffer,
): Promise<AccessRequestView> {
  throw new Error("not implemented yet");
}
