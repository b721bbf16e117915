/** SQL of outputs. Only `findOutput` checks that the content of the version still exists; other callers must check it. */
import { sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { StateVersionOutputTable } from "../../../database/schema/state.ts";
import type { Page } from "../../../jsonapi/query.ts";
import {
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { openWithId } from "../../shared/open-organizations.ts";

type OutputRow = StateVersionOutputTable & WorkspaceAccessRow;

const byId = prepared<{ id: string; principal: string }, OutputRow>((db, { id, principal }) =>
  db
    .selectFrom("stateVersionOutputs as p")
    .innerJoin("stateVersions as v", "v.id", "p.stateVersionId")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .selectAll("p")
    .select("o.allowForceDeleteWorkspaces")
    .select(workspaceAccessColumns(principal))
    .where("p.id", "=", id)
    .where("v.status", "=", "finalized"),
);

export async function findOutput(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<(StateVersionOutputTable & WorkspacePermissionInput) | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...workspacePermissionInputOf(actor, row) };
}

function outputsIn(tx: Tx, organizationId: string, stateVersionIds: readonly string[]) {
  return tx.db
    .selectFrom("stateVersionOutputs as p")
    .where("p.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("p.stateVersionId"), stateVersionIds));
}

/** Enough for the outputs of any one state; those of several states are truncated to it. */
const shownBytesMax = 20 * 1024 * 1024;

export async function findOutputs(
  tx: Tx,
  organizationId: string,
  stateVersionIds: readonly string[],
): Promise<StateVersionOutputTable[]> {
  const summed = outputsIn(tx, organizationId, stateVersionIds).select([
    "p.id",
    sql<number>`sum(length(p.value)) over (order by p.state_version_id, p.name, p.id rows unbounded preceding)`.as(
      "bytes",
    ),
  ]);
  const withinLimit = tx.db.selectFrom(summed.as("s")).select("s.id").where("s.bytes", "<=", shownBytesMax);
  return outputsIn(tx, organizationId, stateVersionIds)
    .selectAll("p")
    .where("p.id", "in", withinLimit)
    .orderBy("p.name")
    .orderBy("p.id")
    .execute();
}

export async function pageOfOutputs(
  tx: Tx,
  organizationId: string,
  stateVersionId: string,
  page: Page,
): Promise<{ rows: StateVersionOutputTable[]; totalCount: number }> {
  const outputs = tx.db
    .selectFrom("stateVersionOutputs as p")
    .where("p.organizationId", "=", organizationId)
    .where("p.stateVersionId", "=", stateVersionId);
  const { rows, totals } = await fetchPage(tx, {
    rows: outputs.selectAll("p"),
    order: [{ column: "p.name" }, { column: "p.id" }],
    page,
    totals: { totalCount: countOf(outputs.select("p.id")) },
  });
  return { rows, totalCount: totals.totalCount };
}
