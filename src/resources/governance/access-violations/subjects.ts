/** Reads the grants, seats and tokens of an organization in pages, as the actions that would give them today. */
import { sql } from "kysely";
import { permissionSteps } from "../../../access/levels.ts";
import { nowParameter } from "../../../database/now-parameter.ts";
import type { Tx } from "../../../database/database.ts";
import type { AccessViolationTable } from "../../../database/schema/access-violations.ts";
import { seatChange } from "../../identity/teams/ruled-changes.ts";
import type { OrganizationTokenKind } from "../../identity/authentication-tokens/rules.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import type { RuledChange } from "../../shared/hooks.ts";
import type { RuledAction, RulePrincipal } from "../access-rules/engine.ts";

/** Of the last subject of a page, in the order of an index. */
type ScanPosition = readonly [string, string];

export interface ViolationSubject {
  readonly position: ScanPosition;
  readonly key: Pick<
    AccessViolationTable,
    "kind" | "subjectId" | "teamProjectId" | "teamWorkspaceId" | "tokenId" | "teamId" | "membershipId"
  >;
  readonly action: RuledAction;
}

export interface SubjectPage {
  readonly organizationId: string;
  readonly after: ScanPosition;
  readonly limit: number;
}

/** Locks the subjects for reference: a violation names its subject. */
export type SubjectReader = (tx: Tx, page: SubjectPage) => Promise<ViolationSubject[]>;

interface OriginRow {
  readonly granterUserId: string | null;
  readonly granterTeamId: string | null;
  readonly requestStatus: string | null;
  readonly requestDecidedById: string | null;
}

const noSubject = { teamProjectId: null, teamWorkspaceId: null, tokenId: null, teamId: null, membershipId: null };

const isAfter = (columns: readonly [string, string], [first, second]: ScanPosition) =>
  sql<boolean>`(${sql.ref(columns[0])}, ${sql.ref(columns[1])}) > (${first}, ${second})`;

type RecordTable = "teamProjects" | "teamWorkspaces" | "teamMembers";

/** Records in force, by their team and `target`, with who gave them. */
const pageOfRecords = ({ db, dialect }: Tx, table: RecordTable, target: string, page: SubjectPage) =>
  db
    .selectFrom(`${table as "teamProjects"} as g`)
    .leftJoin("users as gu", "gu.id", "g.grantedById")
    .leftJoin("teams as gt", "gt.id", "g.grantedById")
    .leftJoin("accessRequests as q", "q.id", "g.accessRequestId")
    .select(["g.teamId", "g.expiresAt", "g.reason", sql.ref<string>(`g.${target}`).as("targetId")])
    .select(["gu.id as granterUserId", "gt.id as granterTeamId"])
    .select(["q.status as requestStatus", "q.decidedById as requestDecidedById"])
    .where("g.organizationId", "=", page.organizationId)
    .where(isAfter(["g.teamId", `g.${target}`], page.after))
    .where(inForce("g"))
    .orderBy("g.teamId")
    .orderBy(sql.ref(`g.${target}`))
    .limit(page.limit)
    .modifyEnd(dialect.lockRows("g", "reference"));

const grantReader =
  (records: "teamProjects" | "teamWorkspaces"): SubjectReader =>
  async (tx, page) => {
    const [target, type, idColumn] =
      records === "teamProjects"
        ? (["projectId", "projects", "teamProjectId"] as const)
        : (["workspaceId", "workspaces", "teamWorkspaceId"] as const);
    const rows = await pageOfRecords(tx, records, target, page).select(["g.id", "g.access", "g.permissions"]).execute();
    return rows.map(({ id, teamId, targetId, access, permissions, expiresAt, reason, ...origin }) => ({
      position: [teamId, targetId],
      key: { ...noSubject, kind: "grant", subjectId: id, [idColumn]: id },
      action: actionOf(page, origin, {
        action: "grant",
        resource: { type, id: targetId },
        teamId,
        access,
        permissions: permissionSteps(type, permissions),
        expiresAt,
        reason,
      }),
    }));
  };

const readSeats: SubjectReader = async (tx, page) => {
  const rows = await pageOfRecords(tx, "teamMembers", "membershipId", page)
    .select(sql.ref<string | null>("g.userId").as("userId"))
    .execute();
  return rows.map(({ teamId, targetId: membershipId, userId, expiresAt, reason, ...origin }) => ({
    position: [teamId, membershipId],
    key: { ...noSubject, kind: "seat", subjectId: `${teamId}:${membershipId}`, teamId, membershipId },
    action: actionOf(page, origin, seatChange("addMember", teamId, { userId, expiresAt, reason })),
  }));
};

const tokenReader =
  (kind: "team" | OrganizationTokenKind): SubjectReader =>
  async (tx, page) => {
    const rows = await tx.db
      .selectFrom("tokens as g")
      .leftJoin("users as gu", "gu.id", "g.createdById")
      .leftJoin("teams as gt", "gt.id", "g.createdById")
      .select(["g.id", "g.teamId", "g.createdAt", "g.expiredAt", "gu.id as granterUserId", "gt.id as granterTeamId"])
      .where("g.organizationId", "=", page.organizationId)
      .where("g.kind", "=", kind)
      .where(sql<boolean>`(g.expired_at is null or g.expired_at > ${nowParameter})`)
      .where(isAfter(["g.createdAt", "g.id"], page.after))
      .orderBy("g.createdAt")
      .orderBy("g.id")
      .limit(page.limit)
      .modifyEnd(tx.dialect.lockRows("g", "reference"))
      .execute();
    return rows.map(({ id, teamId, createdAt, expiredAt, ...granter }) => ({
      position: [createdAt, id],
      key: { ...noSubject, kind: "token", subjectId: id, tokenId: id },
      action: actionOf(
        page,
        { ...granter, requestStatus: null, requestDecidedById: null },
        {
          action: "createToken",
          resource:
            teamId === null ? { type: "organizations", id: page.organizationId } : { type: "teams", id: teamId },
          ...(teamId !== null && { teamId }),
          permissions: [],
          expiresAt: expiredAt,
        },
      ),
    }));
  };

function actionOf(
  { organizationId }: SubjectPage,
  { granterUserId, granterTeamId, requestStatus, requestDecidedById }: OriginRow,
  change: RuledChange,
): RuledAction {
  const principal: RulePrincipal =
    granterUserId !== null
      ? { type: "users", id: granterUserId }
      : granterTeamId !== null
        ? { type: "teams", id: granterTeamId }
        : { type: "organizations", id: organizationId };
  const wasApproved = requestStatus === "approved";
  // Nobody decided on break-glass access.
  const isBreakGlass = wasApproved && requestDecidedById === null;
  return { change, principal, isApproved: wasApproved && !isBreakGlass, isBreakGlass };
}

export const subjectReaders: readonly SubjectReader[] = [
  grantReader("teamProjects"),
  grantReader("teamWorkspaces"),
  readSeats,
  tokenReader("team"),
  tokenReader("organization"),
  tokenReader("audit-trails"),
];
