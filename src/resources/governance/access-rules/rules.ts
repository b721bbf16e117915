/** Checks of access rules, without I/O. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissionNeeds, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { AccessRuleTable } from "../../../database/schema/governance.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { AppError, attributeFault, type Fault } from "../../../kernel/errors.ts";
import { type AccessRuleView, accessRules } from "./definition.ts";

export const rulesMax = 50;

export class RefusedByRule extends AppError {}

export function newAccessRule(
  attributes: CreateAttributes<typeof accessRules>,
  identity: Pick<AccessRuleTable, "id" | "organizationId" | "message" | "createdAt">,
): AccessRuleTable {
  return { ...createdColumns(accessRules, attributes), ...identity, updatedAt: identity.createdAt, version: 1 };
}

/** Throws `forbidden`, or `not-found` for callers who are not members of the organization. */
export function authorizeAccessRule(rule: AccessRuleView): Granted<AccessRuleView, "can-update"> {
  return authorize(rule, {
    thing: "access rule",
    permission: "can-update",
    visible: rule.standing.member,
    allowed: organizationPermissions(rule.standing)["can-update"],
    needs: organizationPermissionNeeds["can-update"] ?? "ownership of the organization",
  });
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}
