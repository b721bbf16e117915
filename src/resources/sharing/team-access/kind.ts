/** What differs between team access records on projects and on workspaces. */
import type { AliasedExpression, Expression, RawBuilder } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Access } from "../../../access/effective.ts";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { WorkspaceRight } from "../../../access/permissions/workspace.ts";
import type { Mask, PermissionSet } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { TeamProjectTable } from "../../../database/schema/projects.ts";
import type { ResourceDefinition } from "../../../jsonapi/define.ts";
import type { GrantExpiry } from "../../shared/grants/expiry.ts";
import type { GrantOrigin } from "../../shared/grants/origin.ts";

export interface AccessLevel {
  readonly access: string;
  readonly permissions: Mask;
}

export interface AccessTerms extends AccessLevel, GrantExpiry {}

/** The keys are paths: `workspace-access.runs`. */
export type ChosenPermissions = Readonly<Record<string, unknown>>;

export interface CallerAccess {
  /** On the target. */
  readonly callerAccess: Access;
  readonly standing: OrganizationStanding;
}

export interface GrantTarget extends CallerAccess {
  readonly targetId: string;
  readonly organizationId: string;
  readonly enabledRuleCount: number;
  readonly teamCount: number | null;
}

export interface AccessRow extends Omit<TeamProjectTable, "projectId" | keyof GrantOrigin> {
  readonly targetId: string;
}

export interface AccessRecord extends AccessRow, CallerAccess {
  readonly teamVisibility: string;
  readonly includesActor: number;
  /** Only of a locked record. */
  readonly enabledRuleCount?: number;
}

/** Statements call the target `x`. */
export interface AccessTables {
  readonly records: "teamProjects" | "teamWorkspaces";
  readonly targets: "projects" | "workspaces";
  readonly column: "projectId" | "workspaceId";
  readonly grants: (
    principal: string,
    through?: Expression<string>,
  ) => [AliasedExpression<number | null, "projectAccess">, AliasedExpression<number | null, "workspaceAccess">];
  readonly teamCount: RawBuilder<number | null>;
  /** Absent without a counter of records. */
  readonly count?: (tx: Tx, targetId: string, change: number) => Promise<void>;
}

type FindForActor<Found> = (tx: Tx, actor: Actor, id: string, lock: "change" | false) => Promise<Found | undefined>;

export interface AccessStatements {
  readonly target: FindForActor<GrantTarget>;
  readonly record: FindForActor<AccessRecord>;
  /** The caller's access that stays in force until `through`. */
  readonly callerAccess: (tx: Tx, actor: Actor, targetId: string, through: string) => Promise<CallerAccess>;
}

export interface AccessKind {
  readonly definition: ResourceDefinition<AccessRecord> & { readonly type: "team-projects" | "team-workspaces" };
  readonly thing: "project" | "workspace";
  readonly tables: AccessTables;
  readonly find: AccessStatements;
  readonly impliedPermissions: (level: string) => Partial<PermissionSet>;
  readonly canRead: (access: Access) => boolean;
  readonly rights: (access: Access) => Readonly<Record<WorkspaceRight, boolean>>;
  readonly needs: string;
}
