/** The proof that a caller is a site admin. */
import { type Actor, isSiteAdmin } from "../../access/actor.ts";
import { authorize, type Granted } from "../../access/granted.ts";

export type SiteAdminProof = Granted<Actor, "can-administer">;

/** To everybody else, site administration does not exist. Throws `not-found`. */
export const requireSiteAdmin = (actor: Actor): SiteAdminProof => administer(actor, actor);

export const withSiteAdminProof = <Row extends object>(by: SiteAdminProof, row: Row): Granted<Row, "can-administer"> =>
  administer(by, row);

function administer<Row extends object>(actor: Actor, row: Row): Granted<Row, "can-administer"> {
  const allowed = isSiteAdmin(actor);
  return authorize(row, {
    thing: "page",
    permission: "can-administer",
    visible: allowed,
    allowed,
    needs: "a site admin",
  });
}
