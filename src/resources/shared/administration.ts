/** The administration of the whole register. */
import { type Actor, isSiteAdmin } from "../../access/actor.ts";
import { notFound } from "../../kernel/errors.ts";

/** To everybody else, the administration is not there. Raises `not-found`. */
export function requireSiteAdmin(actor: Actor): void {
  if (!isSiteAdmin(actor)) throw notFound("page");
}
