/** The administration of the whole register, and the proof that a caller is in charge of it. */
import { type Actor, isSiteAdmin } from "../../access/actor.ts";
import { grant, type Granted } from "../../access/granted.ts";

/** What the functions that write for site admins ask for. */
export type Administration = Granted<Actor, "can-administer">;

/** To everybody else, the administration is not there. Raises `not-found`. */
export function requireSiteAdmin(actor: Actor): Administration {
  const allowed = isSiteAdmin(actor);
  return grant(actor, {
    thing: "page",
    permission: "can-administer",
    visible: allowed,
    allowed,
    needs: "a site admin",
  });
}

/** Whoever administers the register administers each thing in it. */
export function administered<Row extends object>(_by: Administration, row: Row): Granted<Row, "can-administer"> {
  return row as Granted<Row, "can-administer">;
}
