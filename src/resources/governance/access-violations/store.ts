/** SQL of access violations and of their scans. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import type { AccessViolationView } from "./definition.ts";

interface ViolationPage {
  readonly views: readonly AccessViolationView[];
  readonly totalCount: number;
  readonly computedAt: string | null;
}

export async function listViolations(
  tx: Tx,
  { id }: Granted<OrganizationView, "can-update">,
  page: Page,
): Promise<ViolationPage> {
  const counted = countOf(tx.db.selectFrom("accessViolations").select("id").where("organizationId", "=", id));
  const rows = tx.db
    .selectFrom("accessViolations as v")
    .leftJoin("teamProjects as p", "p.id", "v.teamProjectId")
    .leftJoin("teamWorkspaces as w", "w.id", "v.teamWorkspaceId")
    .leftJoin("tokens as k", "k.id", "v.tokenId")
    .leftJoin("organizationMemberships as m", "m.id", "v.membershipId")
    .select(["v.id", "v.organizationId", "v.accessRuleId", "v.kind", "v.message", "v.since"])
    .select(["m.userId", "p.projectId", "w.workspaceId"])
    .select(sql<string | null>`coalesce(v.team_id, p.team_id, w.team_id, k.team_id)`.as("teamId"))
    .where("v.organizationId", "=", id);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "v.since", descending: true }, { column: "v.id" }],
    page,
    totals: { totalCount: counted },
  });
  const scan = await tx.db
    .selectFrom("accessViolationScans")
    .select("computedAt")
    .where("organizationId", "=", id)
    .executeTakeFirst();
  return { views: found.rows, totalCount: found.totals.totalCount, computedAt: scan?.computedAt ?? null };
}
