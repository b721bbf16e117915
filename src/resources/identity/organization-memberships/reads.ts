/** Reads of organization memberships for other modules. */
import { sql } from "kysely";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { LoadMany } from "../../shared/includes.ts";
import { membershipsWhere } from "./store.ts";

export { listRowsInTeam as listMembershipsInTeam } from "./store.ts";

export const loadMembershipsOfTeams: LoadMany<{ readonly standing: OrganizationStanding }> = (
  tx,
  { actor },
  ids,
  teams,
) => {
  const seesSecretTeams = [...teams.values()].some(({ standing }) => standing.seesSecretTeams);
  return membershipsWhere(tx, actor, { seesSecretTeams }, tx.dialect.isOneOf(sql.ref("m.id"), ids));
};
