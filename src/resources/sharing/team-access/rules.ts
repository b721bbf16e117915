/** Pure rules of team access. See docs/api.md#team-access. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { permissionOfAttribute, permissionSteps } from "../../../access/levels.ts";
import { teamRecordPermissions } from "../../../access/permissions/workspace.ts";
import { type Mask, maskOf, missingPermissions, permissionSetOf } from "../../../access/permission-set.ts";
import { attributeFault, type Fault, forbidden, relationshipFault } from "../../../kernel/errors.ts";
import { human, kebab } from "../../../kernel/names.ts";
import { expiryOrNever } from "../../shared/grants/expiry.ts";
import type { RuledChange, RuledOrganization } from "../../shared/hooks.ts";
import type {
  AccessKind,
  AccessRecord,
  AccessRow,
  ChosenPermissions,
  AccessTerms,
  CallerAccess,
  AccessLevel,
  GrantTarget,
} from "./kind.ts";

const managePermission = "can-manage-team-access";

/** To callers who can't manage access to it, a target does not exist, as the specification says. Throws `not-found`. */
export function authorizeTarget<Right extends "can-read" | typeof managePermission>(
  { thing, canRead, rights, needs }: AccessKind,
  target: GrantTarget,
  permission: Right,
): Granted<GrantTarget, Right> {
  const visible = canRead(target.callerAccess);
  return authorize(target, {
    thing,
    permission,
    visible,
    allowed: permission === "can-read" ? visible : rights(target.callerAccess)[managePermission],
    needs,
    whenDenied: "hide",
  });
}

/** Throws `not-found`, also for callers who can see the record but not manage it. */
export function authorizeRecord<Permission extends "can-read" | "can-manage">(
  { canRead, rights, needs }: AccessKind,
  record: AccessRecord,
  permission: Permission,
): Granted<AccessRecord, Permission> {
  const permissions = teamRecordPermissions({
    ...record,
    canReadTarget: canRead(record.callerAccess),
    rights: rights(record.callerAccess),
    seesSecretTeams: record.standing.seesSecretTeams,
  });
  return authorize(record, {
    thing: "team access",
    permission,
    visible: permissions["can-read"],
    allowed: permissions[permission],
    needs,
    whenDenied: "hide",
  });
}

export function readOnlyFaults(level: string, chosen: ChosenPermissions): Fault[] {
  if (level === "custom") return [];
  return Object.keys(chosen).map((attribute) =>
    attributeFault(
      attribute,
      `${human(attribute)} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
    ),
  );
}

/** A record that was custom keeps what is not chosen. */
export function levelAfter(
  { impliedPermissions }: AccessKind,
  level: string,
  chosen: ChosenPermissions,
  before?: AccessLevel,
): AccessLevel {
  if (level !== "custom") return { access: level, permissions: maskOf(impliedPermissions(level)) };
  const base = before?.access === "custom" ? permissionSetOf(before.permissions) : impliedPermissions(level);
  const chosenSet = Object.fromEntries(
    Object.entries(chosen).map(([attribute, value]) => [
      permissionOfAttribute[attribute as keyof typeof permissionOfAttribute],
      value,
    ]),
  );
  return { access: level, permissions: maskOf({ ...base, ...chosenSet }) };
}

export function newlyGranted(after: AccessTerms, before?: AccessTerms): Mask {
  if (before === undefined || expiryOrNever(after) > expiryOrNever(before)) return after.permissions;
  return after.permissions & ~before.permissions;
}

/** An organization token can grant what it can't use. Throws `forbidden`. */
export function refuseGrantingMore({ callerAccess, standing }: CallerAccess, added: Mask): void {
  const missing = missingPermissions(callerAccess.mask | standing.grantableMask, added);
  if (missing.length > 0)
    throw forbidden(
      `You can't grant what you don't have yourself: ${missing.map(kebab).join(", ")}. Ask someone who has it.`,
    );
}

/** `lasting`: the caller's access that stays in force until the new expiry. Throws `forbidden`. See docs/decisions/0101-no-grant-beyond-your-own.md. */
export function refuseGrantingLonger(lasting: CallerAccess, added: Mask, { expiresAt }: AccessTerms): void {
  const missing = missingPermissions(lasting.callerAccess.mask | lasting.standing.grantableMask, added);
  if (missing.length === 0) return;
  const names = missing.map(kebab).join(", ");
  throw forbidden(
    `You can't grant this ${expiresAt === null ? "without expiry" : `until ${expiresAt}`}, because your own access expires earlier: ${names}. Send an earlier expires-at, or ask someone who has it for longer.`,
  );
}

export const auditedTargets = ({ thing }: AccessKind, { teamId, targetId }: AccessRow) => ({
  team: teamId,
  [thing]: targetId,
});

export function newRecordFaults(team: { readonly isOwners: number }, taken: boolean): Fault[] {
  if (team.isOwners === 1)
    return [relationshipFault("team", "Team can't be the owners team, which has access to everything already")];
  return taken ? [relationshipFault("team", "Team has already been taken")] : [];
}

/** How access rules see a grant. */
export function ruledGrant(
  { tables: { targets } }: Pick<AccessKind, "tables">,
  action: "grant" | "update" | "revoke",
  {
    targetId,
    teamId,
    access,
    expiresAt,
    reason,
  }: Pick<AccessRow, "targetId" | "teamId"> & Omit<AccessTerms, "permissions">,
  given: Mask,
): RuledChange {
  return {
    action,
    resource: { type: targets, id: targetId },
    teamId,
    access,
    permissions: permissionSteps(targets, given),
    expiresAt,
    reason,
  };
}

export function ruledOrganizationOf({ organizationId, enabledRuleCount }: AccessRecord): RuledOrganization {
  if (enabledRuleCount === undefined) throw new Error("the record was loaded without its organization");
  return { organizationId, enabledRuleCount };
}
