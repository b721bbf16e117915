/** Checks that an offer's writer is allowed to make its changes: runs them, and rolls them back. */
import type { Tx } from "../../../database/database.ts";
import { type AppError, conflict, forbidden, notFound } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import {
  atChange,
  attemptChange,
  databaseInTransaction,
  isDenial,
} from "../../sharing/access-previews/apply-changes.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import { findMissingReferences } from "../../sharing/access-previews/evaluation.ts";
import type { Context } from "../../shared/context.ts";
import { noIfMatch } from "../../shared/preconditions.ts";
import { endingBy } from "../access-requests/changes.ts";
import { rollingBack } from "../access-requests/trial.ts";

/** As it would be if somebody took the offer now. The caller must have locked the organization. */
async function firstDenial(
  tx: Tx,
  context: Context,
  changes: readonly ParsedChange[],
  seconds: number,
): Promise<{ readonly error: AppError; readonly position: number } | undefined> {
  const inside: Context = {
    ...context,
    database: databaseInTransaction(context.database, tx),
    ifMatch: noIfMatch,
    wake: () => {},
    accessRules: { mode: "skip", isApproved: false, isBreakGlass: false },
  };
  const until = new Date(nowMs() + seconds * 1000).toISOString();
  return rollingBack(tx, async () => {
    for (const [position, change] of changes.entries()) {
      const error = await attemptChange(tx, inside, change, endingBy(change.input, until));
      // Others mean that the change is impossible now, which its approval refuses.
      if (error !== undefined && (isDenial(error) || error.code === "not-found")) return { error, position };
    }
    return undefined;
  });
}

/** Throws `forbidden`, or `not-found` for a change of something that the caller can't see, or of another organization. */
export async function refuseUnlessAllowed(
  tx: Tx,
  context: Context,
  organization: Pick<OrganizationView, "id" | "name">,
  changes: readonly ParsedChange[],
  seconds: number,
): Promise<void> {
  await refuseElsewhere(tx, organization, changes);
  const denial = await firstDenial(tx, context, changes, seconds);
  if (denial === undefined) return;
  const { error, position } = denial;
  throw atChange(isDenial(error) ? forbidden(error.message) : error, position);
}

/** For the offer's last writer, when somebody takes the offer. Throws `conflict`. */
export async function refuseLostRight(
  tx: Tx,
  context: Context,
  organization: Pick<OrganizationView, "id" | "name">,
  changes: readonly ParsedChange[],
  seconds: number,
): Promise<void> {
  const [missing] = await findMissingReferences(tx, organization, changes);
  const denial = await firstDenial(tx, context, changes, seconds);
  if (missing === undefined && denial === undefined) return;
  const reason = denial?.error.message ?? "It names something that no longer exists.";
  throw conflict(
    `The last writer of this offer is not allowed to make its change ${(denial?.position ?? missing ?? 0) + 1} any more: ${reason} Ask somebody who is allowed to make every change to save the offer again.`,
  );
}

/** Site admins could make a change of another organization. */
async function refuseElsewhere(
  tx: Tx,
  organization: Pick<OrganizationView, "id" | "name">,
  changes: readonly ParsedChange[],
): Promise<void> {
  const [position] = await findMissingReferences(tx, organization, changes);
  if (position !== undefined) throw atChange(notFound("team, project or workspace"), position);
}
