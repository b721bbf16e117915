/**
 * What records of team access to a project and to a workspace have in common, and what each of the two kinds brings: its
 * table, its levels, and what counts as seeing and managing the place.
 */
import type { AliasedExpression, Expression, RawBuilder } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Access } from "../../../access/effective.ts";
import type { Standing } from "../../../access/organization.ts";
import type { WorkspaceRight } from "../../../access/permissions/workspace.ts";
import type { Mask, PermissionSet } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { TeamProjectTable } from "../../../database/schema/projects.ts";
import type { ResourceDefinition } from "../../../jsonapi/define.ts";
import type { Ending } from "../../shared/grants/ending.ts";

/** What a record gives and by which level. */
export interface Level {
  readonly access: string;
  readonly permissions: Mask;
}

/** The same with until when, and for what. */
export interface Given extends Level, Ending {}

/** Permissions that a body chooses, by the path of their attribute: `workspace-access.runs`. */
export type Chosen = Readonly<Record<string, unknown>>;

/** What the caller holds on the project or workspace, and is in its organization. */
export interface Held {
  readonly held: Access;
  readonly standing: Standing;
}

/** A project or workspace as those see it who are about to look at its team access. */
export interface Place extends Held {
  readonly placeId: string;
  readonly organizationId: string;
  /** How many records there are, where the place itself knows. */
  readonly teamCount: number | null;
}

export interface AccessRow extends Omit<TeamProjectTable, "projectId"> {
  readonly placeId: string;
}

export interface AccessRecord extends AccessRow, Held {
  readonly teamVisibility: string;
  /** 1 when the caller is in the team, or is the team. */
  readonly includesActor: number;
}

/** Where the records are, and how a statement brings what its caller holds on a place, which it calls `x`. */
export interface AccessTables {
  readonly records: "teamProjects" | "teamWorkspaces";
  readonly places: "projects" | "workspaces";
  /** The place's id in a record. */
  readonly column: "projectId" | "workspaceId";
  readonly grants: (
    principal: string,
    through?: Expression<string>,
  ) => [AliasedExpression<number | null, "projectAccess">, AliasedExpression<number | null, "workspaceAccess">];
  readonly teamCount: RawBuilder<number | null>;
  /** Records more, or less, where the place itself counts them. */
  readonly count?: (tx: Tx, placeId: string, change: number) => Promise<void>;
}

type Find<Found> = (tx: Tx, actor: Actor, id: string, lock: boolean) => Promise<Found | undefined>;

/** One statement each: a place, or a record, and all that the caller holds there. */
export interface AccessStatements {
  readonly place: Find<Place>;
  readonly record: Find<AccessRecord>;
  /** What the caller holds on a place at least until `through`. */
  readonly holding: (tx: Tx, actor: Actor, placeId: string, through: string) => Promise<Held>;
}

export interface AccessKind {
  readonly definition: ResourceDefinition<AccessRecord> & { readonly type: "team-projects" | "team-workspaces" };
  /** What the place is called, in sentences and in the audit trail. */
  readonly thing: "project" | "workspace";
  readonly tables: AccessTables;
  readonly find: AccessStatements;
  /** What a level gives; for `custom`, what it gives where nothing is chosen. */
  readonly implied: (level: string) => Partial<PermissionSet>;
  readonly sees: (held: Access) => boolean;
  readonly rights: (held: Access) => Readonly<Record<WorkspaceRight, boolean>>;
  /** What managing access to the place needs, in the words that a refusal uses. */
  readonly needs: string;
}
