/** SQL of plans and applies. Whoever changes one holds its workspace's row. */
import { type Kysely, sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Context } from "../../shared/context.ts";
import { workspaceAccessColumns, type WorkspaceAccessRow, workspaceFactsOf } from "../../shared/grants/reads.ts";
import { logUrl } from "./log-urls.ts";
import type { PhaseKind, PhaseView } from "./view.ts";

type PhaseRow = RunPhaseTable & WorkspaceAccessRow & Pick<PhaseView, "executionMode" | "agentPoolId" | "runEndedAt">;

function phaseForActor(db: Kysely<Schema>, principal: string) {
  return db
    .selectFrom("runPhases as f")
    .innerJoin("runs as r", "r.id", "f.runId")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", "o.id", "f.organizationId")
    .selectAll("f")
    .select(["r.executionMode", "r.agentPoolId", "r.endedAt as runEndedAt", "o.allowForceDeleteWorkspaces"])
    .select(
      sql<string | null>`(
      select string_agg(v.id, ',' order by v.position desc) from state_versions as v
      where v.workspace_id = f.workspace_id and v.run_id = f.run_id and f.kind = 'apply')`.as("stateVersionIds"),
    )
    .select(workspaceAccessColumns(principal));
}

export type Caller = Pick<Context, "actor" | "vault" | "options">;
type Wanted = { kind: string; id: string; principal: string };

const byId = prepared<Wanted, PhaseRow>((db, { kind, id, principal }) =>
  phaseForActor(db, principal).where("f.id", "=", id).where("f.kind", "=", kind),
);
const byRun = prepared<Wanted, PhaseRow>((db, { kind, id, principal }) =>
  phaseForActor(db, principal).where("f.runId", "=", id).where("f.kind", "=", kind),
);

/** One statement: the phase, by its own id or its run's, and what the caller holds on its workspace. */
export async function findPhase(
  tx: Tx,
  context: Caller,
  kind: PhaseKind,
  by: { readonly id: string } | { readonly runId: string },
): Promise<PhaseView | undefined> {
  const principal = principalOf(context.actor);
  const [row] =
    "id" in by ? await byId(tx, { kind, id: by.id, principal }) : await byRun(tx, { kind, id: by.runId, principal });
  return row && toView(row, context);
}

/** Of runs whose workspace the caller is known to read. */
export async function findPhasesOf(
  tx: Tx,
  context: Caller,
  kind: PhaseKind,
  runIds: readonly string[],
): Promise<PhaseView[]> {
  const rows = await phaseForActor(tx.db, principalOf(context.actor))
    .where("f.kind", "=", kind)
    .where(tx.dialect.isOneOf(sql.ref("f.runId"), runIds))
    .execute();
  return rows.map((row) => toView(row, context));
}

function toView(row: PhaseRow, context: Caller): PhaseView {
  return { ...row, ...workspaceFactsOf(context.actor, row), logReadUrl: logUrl(context, row.id) };
}
