/**
 * Pure rules of team access: a record is a level, or chosen permissions; and nobody gives more than they hold.
 * See docs/decisions/0025-records-of-team-access.md.
 */
import { grant, type Granted } from "../../../access/granted.ts";
import { permissionOfRow } from "../../../access/levels.ts";
import { teamRecordPermissions } from "../../../access/permissions/workspace.ts";
import { type Mask, maskOf, missingFrom, setOf } from "../../../access/permission-set.ts";
import { attributeFault, type Fault, forbidden, relationshipFault } from "../../../kernel/errors.ts";
import { human, kebab } from "../../../kernel/names.ts";
import { endOf } from "../../shared/grants/ending.ts";
import type { AccessKind, AccessRecord, AccessRow, Chosen, Given, Held, Level, Place } from "./kind.ts";

const managing = "can-manage-team-access";

/** Whoever may not manage access to a place is told that there is none, as the specification says. Raises `not-found`. */
export function grantPlace<Right extends "can-read" | typeof managing>(
  { thing, sees, rights, needs }: AccessKind,
  place: Place,
  permission: Right,
): Granted<Place, Right> {
  const visible = sees(place.held);
  return grant(place, {
    thing,
    permission,
    visible,
    allowed: permission === "can-read" ? visible : rights(place.held)[managing],
    needs,
    otherwise: "hide",
  });
}

/** Raises `not-found`, also for whoever may see the record but not manage it. */
export function grantRecord<Permission extends "can-read" | "can-manage">(
  { sees, rights, needs }: AccessKind,
  record: AccessRecord,
  permission: Permission,
): Granted<AccessRecord, Permission> {
  const held = teamRecordPermissions({
    ...record,
    readsThing: sees(record.held),
    rights: rights(record.held),
    seesSecretTeams: record.standing.seesSecretTeams,
  });
  return grant(record, {
    thing: "team access",
    permission,
    visible: held["can-read"],
    allowed: held[permission],
    needs,
    otherwise: "hide",
  });
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

/** What a record gives after a change. One that was custom already keeps what is not chosen. */
export function levelAfter({ implied }: AccessKind, level: string, chosen: Chosen, before?: Level): Level {
  if (level !== "custom") return { access: level, permissions: maskOf(implied(level)) };
  const base = before?.access === "custom" ? setOf(before.permissions) : implied(level);
  const wanted = Object.fromEntries(
    Object.entries(chosen).map(([attribute, value]) => [
      permissionOfRow[attribute as keyof typeof permissionOfRow],
      value,
    ]),
  );
  return { access: level, permissions: maskOf({ ...base, ...wanted }) };
}

/** What a record gives that it did not give before: other permissions, or, where it ends later than it did, all of them. */
export function givenAnew(after: Given, before?: Given): Mask {
  if (before === undefined || endOf(after) > endOf(before)) return after.permissions;
  return after.permissions & ~before.permissions;
}

/** Nobody grants more than they hold; an organization's token grants what it can't use itself. Raises `forbidden`. */
export function refuseGivingMore({ held, standing }: Held, wanted: Mask): void {
  const missing = missingFrom(held.mask | standing.grantable, wanted);
  if (missing.length > 0)
    throw forbidden(
      `You can't grant what you don't hold yourself: ${missing.map(kebab).join(", ")}. Ask someone who holds it.`,
    );
}

/**
 * Nor for longer than they hold it, as `lasting` tells. Raises `forbidden`. See
 * docs/decisions/0101-nobody-gives-longer-than-they-hold.md.
 */
export function refuseGivingLonger(lasting: Held, wanted: Mask, { expiresAt }: Given): void {
  const missing = missingFrom(lasting.held.mask | lasting.standing.grantable, wanted);
  if (missing.length === 0) return;
  const names = missing.map(kebab).join(", ");
  throw forbidden(
    `You can't grant this ${expiresAt === null ? "for ever" : `until ${expiresAt}`}, because your own access ends before: ${names}. Give an earlier expires-at, or ask someone who holds it for longer.`,
  );
}

/** What the trail tells of a record beside its attributes: whose it is, and on what. */
export const boundTo = ({ thing }: AccessKind, { teamId, placeId }: AccessRow) => ({ team: teamId, [thing]: placeId });

/** What the register knows against a new record. */
export function newRecordFaults(team: { readonly isOwners: number }, taken: boolean): Fault[] {
  if (team.isOwners === 1)
    return [relationshipFault("team", "Team can't be the owners team: it has access to everything already")];
  return taken ? [relationshipFault("team", "Team has already been taken")] : [];
}
