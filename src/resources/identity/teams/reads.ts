/** Reads of teams for other modules, and the permission checks on a team. */
import { sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import { type TeamPermission, teamPermissionNeeds, teamPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { conflict, forbidden, notFound } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { type GrantExpiry, expiryOrNever } from "../../shared/grants/expiry.ts";
import { neverExpires } from "../../shared/grants/in-force.ts";
import { standingUntil, teamsExceedCaller } from "../../shared/grants/reads.ts";
import type { OrganizationView } from "../organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { TeamView } from "./definition.ts";
import { findTeam, teamsForActor, toTeamView } from "./store.ts";

export { type UserGroups, teamIdsOfGroups } from "./store.ts";

export async function loadTeam(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock: RowLock = false,
): Promise<TeamView> {
  const team = await findTeam(tx, context.actor, id, lock);
  if (team === undefined) throw notFound("team");
  return authorizeTeam(team, "can-read");
}

export function authorizeTeam<Permission extends TeamPermission>(
  team: TeamView,
  permission: Permission,
): Granted<TeamView, Permission> {
  const permissions = teamPermissions(team.standing, team);
  return authorize(team, {
    thing: "team",
    permission,
    visible: permissions["can-read"],
    allowed: permissions[permission],
    needs: teamPermissionNeeds[permission],
  });
}

const exceedsOwnAccess =
  "The team has access that you don't have, or that you have for a shorter time, so you can't pass it on. Ask an owner.";

/** `accessEnd` is when the granted access expires. Throws `forbidden`. See docs/decisions/0101-no-grant-beyond-your-own.md. */
export async function refuseExceedingOwnAccess(
  tx: Tx,
  context: Pick<Context, "actor">,
  organizationId: string,
  teams: readonly Pick<TeamView, "id" | "standing">[],
  accessEnd: string = neverExpires,
): Promise<void> {
  const [first] = teams;
  if (first === undefined) return;
  const standing = await standingUntil(tx, context.actor, first.standing, organizationId, accessEnd);
  const target = { organizationId, teamIds: teams.map((team) => team.id), lastsUntil: accessEnd };
  if (await teamsExceedCaller(tx, context.actor, standing, target)) throw forbidden(exceedsOwnAccess);
}

/** For operations that only show the team's current access. Throws `forbidden`. */
export async function refuseShowingUnreadableAccess(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationId: string,
  { id, standing }: Pick<TeamView, "id" | "standing">,
): Promise<void> {
  if (await teamsExceedCaller(tx, actor, standing, { organizationId, teamIds: [id], lastsUntil: now() }))
    throw forbidden("You can't see this, because the team has access that you don't have. Ask an owner.");
}

/** The same checks as adding a member to each team. Throws `forbidden`. */
export async function loadTeamsForNewMember(
  tx: Tx,
  context: Pick<Context, "actor">,
  organization: Pick<OrganizationView, "id">,
  expiries: ReadonlyMap<string, GrantExpiry>,
): Promise<{ found: Granted<TeamView, "can-update-membership">[]; unknown: string[] }> {
  const ids = [...expiries.keys()];
  if (ids.length === 0) return { found: [], unknown: [] };
  const all = await teamsByIds(tx, context.actor, ids);
  const visible = all.filter(
    (team) => team.organizationId === organization.id && teamPermissions(team.standing, team)["can-read"],
  );
  const known = new Set(visible.map((team) => team.id));
  const found = visible.map((team) => authorizeTeam(team, "can-update-membership"));
  // One check with the latest end covers all teams.
  const latestEnd = [...expiries.values()].map(expiryOrNever).toSorted().at(-1);
  await refuseExceedingOwnAccess(tx, context, organization.id, found, latestEnd);
  return { found, unknown: ids.filter((id) => !known.has(id)) };
}

export async function teamsByIds(tx: Tx, actor: Actor, ids: readonly string[]): Promise<TeamView[]> {
  const rows = await teamsForActor(tx.db, actor)
    .where(tx.dialect.isOneOf(sql.ref("t.id"), ids))
    .orderBy("t.id")
    .execute();
  return rows.map((row) => toTeamView(actor, row));
}

export async function readableTeams(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  ids: readonly string[],
): Promise<TeamView[]> {
  const found = await teamsByIds(tx, actor, ids);
  return found.filter((team) => teamPermissions(team.standing, team)["can-read"]);
}

/** Locks the owners team, so that concurrent requests can't remove the last two permanent owners. Throws `conflict`. */
export async function refuseLastOwner(tx: Tx, organizationId: string, leaving: readonly string[]): Promise<void> {
  const team = await tx.db
    .selectFrom("teams as t")
    .select("t.id")
    .where("t.organizationId", "=", organizationId)
    .where("t.isOwners", "=", 1)
    .modifyEnd(tx.dialect.lockRows("t"))
    .executeTakeFirstOrThrow();
  const staying = await tx.db
    .selectFrom("teamMembers")
    .select("membershipId")
    .where("teamId", "=", team.id)
    .where("userId", "is not", null)
    .where("expiresAt", "is", null)
    .where((where) => where.not(tx.dialect.isOneOf(sql.ref("membershipId"), leaving)))
    .limit(1)
    .executeTakeFirst();
  if (staying === undefined)
    throw conflict(
      "The organization would be left without a permanent owner. Add another person to the owners team without an expiry first.",
    );
}
