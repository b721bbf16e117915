/**
 * What records of team access to a project and to a workspace have in common: a level, or chosen permissions; and that
 * nobody gives more than they hold. See docs/decisions/0025-records-of-team-access.md.
 */
import { type Expression, type RawBuilder, sql } from "kysely";
import { permissionOfRow } from "../../../access/levels.ts";
import type { Standing } from "../../../access/organization.ts";
import type { Access } from "../../../access/effective.ts";
import { type Mask, maskOf, missingFrom, type PermissionSet, setOf } from "../../../access/permission-set.ts";
import { attributeFault, type Fault, forbidden, relationshipFault } from "../../../kernel/errors.ts";
import { human, kebab } from "../../../kernel/names.ts";
import { actorTeams } from "./reads.ts";

/** Permissions that a body chooses, by the path of their attribute: `workspace-access.runs`. */
export type Chosen = Readonly<Record<string, unknown>>;

/** What a record gives and by which level. */
export interface Given {
  readonly access: string;
  readonly permissions: Mask;
}

/** A level's permissions can be read, but not chosen. */
export function readOnlyFaults(level: string, chosen: Chosen): Fault[] {
  if (level === "custom") return [];
  return Object.keys(chosen).map((attribute) =>
    attributeFault(
      attribute,
      `${human(attribute)} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
    ),
  );
}

/**
 * What a record gives after a change. `implied` is what its level gives; for `custom`, what it gives where nothing is chosen.
 * A record that was custom already keeps what is not chosen.
 */
export function givenAfter(
  level: string,
  chosen: Chosen,
  implied: Partial<PermissionSet>,
  before: Given | undefined,
): Given {
  if (level !== "custom") return { access: level, permissions: maskOf(implied) };
  const base = before?.access === "custom" ? setOf(before.permissions) : implied;
  const wanted = Object.fromEntries(
    Object.entries(chosen).map(([attribute, value]) => [
      permissionOfRow[attribute as keyof typeof permissionOfRow],
      value,
    ]),
  );
  return { access: level, permissions: maskOf({ ...base, ...wanted }) };
}

/** Nobody grants more than they hold; an organization's token grants what it can't use itself. Raises `forbidden`. */
export function refuseGivingMore(
  caller: { readonly held: Access; readonly standing: Standing },
  before: Mask,
  after: Mask,
): void {
  const missing = missingFrom(caller.held.mask | caller.standing.grantable, after & ~before);
  if (missing.length > 0)
    throw forbidden(
      `You can't grant what you don't hold yourself: ${missing.map(kebab).join(", ")}. Ask someone who holds it.`,
    );
}

/** What the register knows against a new record. */
export function newRecordFaults(team: { readonly isOwners: number }, taken: boolean): Fault[] {
  if (team.isOwners === 1)
    return [relationshipFault("team", "Team can't be the owners team: it has access to everything already")];
  return taken ? [relationshipFault("team", "Team has already been taken")] : [];
}

/** 1 when a principal is in a record's team, or is that team. */
export function includesActor(
  organizationId: Expression<string>,
  teamId: Expression<string>,
  principal: string,
): RawBuilder<number> {
  return sql<number>`case when ${teamId} in ${actorTeams(organizationId, principal)} then 1 else 0 end`;
}
