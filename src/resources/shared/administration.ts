/** The administration of the whole register, and the proof that a caller is in charge of it. */
import { type Actor, isSiteAdmin } from "../../access/actor.ts";
import { grant, type Granted } from "../../access/granted.ts";

/** What the functions that write for site admins ask for. */
export type Administration = Granted<Actor, "can-administer">;

/** To everybody else, the administration is not there. Raises `not-found`. */
export const requireSiteAdmin = (actor: Actor): Administration => administer(actor, actor);

/** Site admins administer each thing in the register. */
export const administered = <Row extends object>(by: Administration, row: Row): Granted<Row, "can-administer"> =>
  administer(by, row);

function administer<Row extends object>(actor: Actor, row: Row): Granted<Row, "can-administer"> {
  const allowed = isSiteAdmin(actor);
  return grant(row, { thing: "page", permission: "can-administer", visible: allowed, allowed, needs: "a site admin" });
}
