/** What neighbours ask of teams, and how a team is granted. */
import { sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import { grant, type Granted } from "../../../access/granted.ts";
import { type TeamPermission, teamPermissionNeeds, teamPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { conflict, forbidden, notFound } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { type Ending, endOf } from "../../shared/grants/ending.ts";
import { forEver } from "../../shared/grants/in-force.ts";
import { standingThrough, teamsExceed } from "../../shared/grants/reads.ts";
import type { OrganizationView } from "../organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import type { Lock } from "../../shared/locks.ts";
import type { TeamView } from "./definition.ts";
import { findTeam, teamsForActor, toTeamView } from "./store.ts";

export { type Grouped, teamsOfGroups } from "./store.ts";

/** Raises `not-found` where the caller may not know of the team. */
export async function loadTeam(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock: Lock = false,
): Promise<TeamView> {
  const team = await findTeam(tx, context.actor, id, lock);
  if (team === undefined) throw notFound("team");
  return grantTeam(team, "can-read");
}

/** Raises `forbidden`, or `not-found` where the caller may not know of the team. */
export function grantTeam<Permission extends TeamPermission>(
  team: TeamView,
  permission: Permission,
): Granted<TeamView, Permission> {
  const held = teamPermissions(team.standing, team);
  return grant(team, {
    thing: "team",
    permission,
    visible: held["can-read"],
    allowed: held[permission],
    needs: teamPermissionNeeds[permission],
  });
}

const exceeds =
  "This would give more than you hold yourself: the team has access that you don't have, or not for as long. Ask an owner.";

/**
 * Nobody grants more than they hold, nor for longer: neither by putting someone into a team, nor by making its token, nor by having its
 * notifications sent somewhere. `through` is the
 * moment until which it is given. Raises `forbidden`. See docs/decisions/0101-nobody-gives-longer-than-they-hold.md.
 */
export async function refuseExceeding(
  tx: Tx,
  context: Pick<Context, "actor">,
  organizationId: string,
  teams: readonly Pick<TeamView, "id" | "standing">[],
  through: string = forEver,
): Promise<void> {
  const [first] = teams;
  if (first === undefined) return;
  const standing = await standingThrough(tx, context.actor, first.standing, organizationId, through);
  const asked = { organizationId, teamIds: teams.map((team) => team.id), through };
  if (await teamsExceed(tx, context.actor, standing, asked)) throw forbidden(exceeds);
}

/** For what shows a team's access now, and hands nothing on. Raises `forbidden`. */
export async function refuseSeeingMore(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationId: string,
  { id, standing }: Pick<TeamView, "id" | "standing">,
): Promise<void> {
  if (await teamsExceed(tx, actor, standing, { organizationId, teamIds: [id], through: now() }))
    throw forbidden(
      "This shows more than you can read yourself: the team has access that you don't have. Ask an owner.",
    );
}

/** Teams that a new member is to be put into, each until its end, checked like any addition to a team. Raises `forbidden`. */
export async function loadTeamsToFill(
  tx: Tx,
  context: Pick<Context, "actor">,
  organization: Pick<OrganizationView, "id">,
  endings: ReadonlyMap<string, Ending>,
): Promise<{ found: Granted<TeamView, "can-update-membership">[]; unknown: string[] }> {
  const ids = [...endings.keys()];
  if (ids.length === 0) return { found: [], unknown: [] };
  const all = await teamsByIds(tx, context.actor, ids);
  const visible = all.filter(
    (team) => team.organizationId === organization.id && teamPermissions(team.standing, team)["can-read"],
  );
  const known = new Set(visible.map((team) => team.id));
  const found = visible.map((team) => grantTeam(team, "can-update-membership"));
  // The latest end stands for all of them, so that one look will do.
  const through = [...endings.values()].map(endOf).toSorted().at(-1);
  await refuseExceeding(tx, context, organization.id, found, through);
  return { found, unknown: ids.filter((id) => !known.has(id)) };
}

export async function teamsByIds(tx: Tx, actor: Actor, ids: readonly string[]): Promise<TeamView[]> {
  const rows = await teamsForActor(tx.db, actor)
    .where(tx.dialect.isOneOf(sql.ref("t.id"), ids))
    .orderBy("t.id")
    .execute();
  return rows.map((row) => toTeamView(actor, row));
}

/** Which of these teams the caller could GET. */
export async function readableTeams(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  ids: readonly string[],
): Promise<TeamView[]> {
  const found = await teamsByIds(tx, actor, ids);
  return found.filter((team) => teamPermissions(team.standing, team)["can-read"]);
}

/** An organization keeps at least one owner for ever. Locks the owners team, so that the last two can't go at once. Raises `conflict`. */
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
      "The organization would be left without an owner who stays. Add another person to the owners team first, without an end.",
    );
}
