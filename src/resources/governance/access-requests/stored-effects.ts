/** Effects of an approved request, stored with ids; each reader gets the names that it can see. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { permissionBit } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import { readableCondition } from "../../register/workspaces/reads.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { hasProjectGrant } from "../../shared/grants/reads.ts";
import {
  type DescribedEffects,
  namedMax,
  type PermissionShare,
  type SubjectDifference,
} from "../../sharing/access-previews/definition.ts";
import { effectsOnAll } from "../../sharing/access-previews/described-effects.ts";
import { isEmptyEffect, type PermissionGroup, type PreviewEffect } from "../../sharing/access-previews/effects.ts";
import type { PreviewSubject, SnapshotComparison } from "../../sharing/access-previews/snapshots.ts";
import { firstInProjects } from "../../sharing/access-previews/reads.ts";

interface StoredShare {
  readonly permissions: readonly string[];
  readonly count: number;
  readonly ids: readonly string[];
}

interface StoredEffect {
  readonly organization: readonly string[];
  readonly projects: readonly StoredShare[];
  readonly workspaces: readonly StoredShare[];
}

export interface StoredEffects {
  /** Subjects in the same teams share one. */
  readonly effects: readonly { readonly gains: StoredEffect; readonly losses: StoredEffect }[];
  readonly subjects: readonly {
    readonly type: PreviewSubject["type"];
    readonly id: string;
    readonly effect: number;
  }[];
}

/** More than are shown, because a reader may not be allowed to see the first ones. */
const storedIdsMax = 50;
const searchedProjectsMax = 5;

export async function effectsToStore(
  tx: Tx,
  organizationId: string,
  comparison: SnapshotComparison,
): Promise<StoredEffects> {
  const all = [...(await effectsOnAll(comparison))].filter(
    ([, { gains, losses }]) => !isEmptyEffect(gains) || !isEmptyEffect(losses),
  );
  const distinct = [...new Set(all.map(([, effects]) => effects))];
  const groups = distinct.flatMap(({ gains, losses }) => [...gains.workspaces, ...losses.workspaces]);
  const searched = [...new Set(groups.flatMap(({ projectIds }) => projectIds.slice(0, searchedProjectsMax)))];
  const first =
    searched.length === 0 ? [] : await firstInProjects(tx, organizationId, searched, [...comparison.known.keys()]);
  const inProject = Map.groupBy(first, ({ projectId }) => projectId);
  const share = ({ permissions, count, ids, projectIds }: PermissionGroup): StoredShare => {
    const others = projectIds.flatMap((id) => inProject.get(id) ?? []).map(({ workspaceId }) => workspaceId);
    return { permissions, count, ids: [...ids, ...others].slice(0, storedIdsMax) };
  };
  const stored = ({ organization, projects, workspaces }: PreviewEffect): StoredEffect => ({
    organization,
    projects: projects.map(share),
    workspaces: workspaces.map(share),
  });
  return {
    effects: distinct.map(({ gains, losses }) => ({ gains: stored(gains), losses: stored(losses) })),
    subjects: all.map(([{ type, id }, effects]) => ({ type, id, effect: distinct.indexOf(effects) })),
  };
}

interface VisibleNameRow {
  readonly id: string;
  readonly name: string;
}

/** One statement. Users are visible to owners, and to others through teams that they can see, as in a preview. */
async function visibleNames(
  tx: Tx,
  actor: Actor,
  organization: Pick<OrganizationView, "id" | "standing">,
  { effects, subjects }: StoredEffects,
): Promise<ReadonlyMap<string, string>> {
  const sides = effects.flatMap(({ gains, losses }) => [gains, losses]);
  const idsIn = (list: "projects" | "workspaces") => [
    ...new Set(sides.flatMap((side) => side[list].flatMap(({ ids }) => ids))),
  ];
  const subjectIds = (type: PreviewSubject["type"]) => subjects.filter((one) => one.type === type).map(({ id }) => id);
  const principal = principalOf(actor);
  const seesTeam = teamIsVisible(actor, organization.standing);
  const seesAllUsers = organization.standing.owner ? sql<SqlBool>`1 = 1` : sql<SqlBool>`1 = 0`;
  const readableWorkspace = readableCondition(actor, organization) ?? sql<SqlBool>`1 = 1`;
  const inOrganization = (table: string) => sql`${sql.ref(`${table}.organizationId`)} = ${organization.id}`;
  const { rows } = await sql<VisibleNameRow>`
    select t.id as id, t.name as name from teams as t
      where ${inOrganization("t")} and ${tx.dialect.isOneOf(sql.ref("t.id"), subjectIds("teams"))} and ${seesTeam}
    union all
    select u.id, u.username from users as u
      where ${tx.dialect.isOneOf(sql.ref("u.id"), subjectIds("users"))} and (${seesAllUsers} or u.id = ${principal} or exists (
        select 1 from team_members as shared inner join teams as t on t.id = shared.team_id
        where shared.user_id = u.id and ${inForce("shared")} and ${inOrganization("shared")} and ${inOrganization("t")} and ${seesTeam}))
    union all
    select p.id, p.name from projects as p
      where ${inOrganization("p")} and ${tx.dialect.isOneOf(sql.ref("p.id"), idsIn("projects"))}
        and ${readableProject(organization, principal)}
    union all
    select w.id, w.name from workspaces as w
      where ${inOrganization("w")} and ${tx.dialect.isOneOf(sql.ref("w.id"), idsIn("workspaces"))} and ${readableWorkspace}
    `.execute(tx.db);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

function readableProject(
  { id, standing }: Pick<OrganizationView, "id" | "standing">,
  principal: string,
): RawBuilder<SqlBool> {
  const bit = permissionBit("settings", "read");
  if ((standing.organizationWideMask & bit) !== 0) return sql<SqlBool>`1 = 1`;
  return hasProjectGrant(sql`${id}`, sql.ref("p.id"), principal, bit);
}

export async function describeStored(
  tx: Tx,
  actor: Actor,
  organization: Pick<OrganizationView, "id" | "standing">,
  stored: StoredEffects,
): Promise<DescribedEffects> {
  const names = await visibleNames(tx, actor, organization, stored);
  const share = ({ permissions, count, ids }: StoredShare): PermissionShare => {
    const named = ids.flatMap((id) => (names.has(id) ? [{ id, name: names.get(id) ?? "" }] : []));
    return { permissions, count, named: named.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, namedMax) };
  };
  const sideOf = (side: "gains" | "losses") => {
    const all = stored.subjects.flatMap(({ type, id, effect }) => {
      const found = stored.effects[effect]?.[side];
      if (found === undefined || found.organization.length + found.projects.length + found.workspaces.length === 0)
        return [];
      return [{ type, id, effect: found, name: names.get(id) }];
    });
    const unseen = (type: PreviewSubject["type"]) =>
      all.filter((one) => one.name === undefined && one.type === type).length;
    const shown = all.flatMap(({ type, id, name, effect }): SubjectDifference[] =>
      name === undefined
        ? []
        : [
            {
              subject: { type, id, name },
              organization: effect.organization,
              projects: effect.projects.map(share),
              workspaces: effect.workspaces.map(share),
            },
          ],
    );
    return { shown, unseen: { teams: unseen("teams"), users: unseen("users") } };
  };
  const [gains, losses] = [sideOf("gains"), sideOf("losses")];
  return { gains: gains.shown, losses: losses.shown, unseenGains: gains.unseen, unseenLosses: losses.unseen };
}
