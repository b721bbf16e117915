/** SQL for agents and the lost-job check: queued phases, claimed phases, signals, and phases whose agent is silent. */
import { type RawBuilder, sql } from "kysely";
import { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { poolServesCondition } from "../../connections/agent-pools/reads.ts";
import { sitePool } from "./rules.ts";

const issueClaim = Capability.issuer("claim");
export type ClaimCapability = Capability<"claim">;

export type AgentActor = Extract<Actor, { kind: "agent" }>;

export const poolOf = ({ site, agentPoolId }: AgentActor): string => (site ? sitePool : agentPoolId);

export const engineKey = (engine: string, version: string): string => `${engine} ${version}`;

export interface QueuedEngine {
  readonly pool: string;
  readonly engine: string;
  readonly engineVersion: string;
}

export const findQueuedEngines = prepared<object, QueuedEngine>((db) =>
  db.selectFrom("runPhases").select(["pool", "engine", "engineVersion"]).distinct().where("status", "=", "queued"),
);

export interface ClaimablePhase {
  readonly id: string;
  readonly runId: string;
  readonly kind: string;
  readonly attempt: number;
  readonly claim: ClaimCapability;
}

/** Skips workspaces locked by another transaction, so that concurrent claims do not wait for each other. */
export async function findClaimablePhase(
  tx: Tx,
  actor: AgentActor,
  engines: readonly string[],
): Promise<ClaimablePhase | undefined> {
  const { isOneOf, lockRowsSkipLocked } = tx.dialect;
  const canServe: RawBuilder<unknown> = actor.site
    ? sql`1 = 1`
    : sql`exists (select 1 from agent_pools as p where p.id = ${actor.agentPoolId} and p.organization_id = f.organization_id
        and ${poolServesCondition(sql.ref("w.project_id"), sql.ref("w.id"))})`;
  const row = await tx.db
    .selectFrom("runPhases as f")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", "o.id", "f.organizationId")
    .select(["f.id", "f.runId", "f.kind", "f.attempt"])
    .where("f.status", "=", "queued")
    .where("f.pool", "=", poolOf(actor))
    .where("o.isDisabled", "=", 0)
    .where(isOneOf(sql`f.engine || ' ' || f.engine_version`, engines))
    .where(sql<boolean>`${canServe}`)
    .orderBy("f.pool")
    .orderBy("f.rank")
    .orderBy("f.queuedMs")
    .orderBy("f.id")
    .limit(1)
    .modifyEnd(lockRowsSkipLocked("o", "reference"))
    .modifyEnd(lockRowsSkipLocked("w", "change"))
    .executeTakeFirst();
  return row && { ...row, claim: issueClaim(row.runId) };
}

export type ClaimedPhaseRow = RunPhaseTable & { readonly agentPoolId: string | null; readonly claim: ClaimCapability };

export async function findClaimedPhase(
  tx: Tx,
  actor: AgentActor,
  id: string,
  lock = false,
): Promise<Granted<ClaimedPhaseRow, "claim"> | undefined> {
  const row = await tx.db
    .selectFrom("runPhases as f")
    .innerJoin("agents as a", "a.id", "f.agentId")
    .selectAll("f")
    .select(sql<string | null>`coalesce(a.agent_pool_id, a.site_agent_pool_id)`.as("agentPoolId"))
    .where("f.id", "=", id)
    .where(sql<boolean>`coalesce(a.agent_pool_id, a.site_agent_pool_id) = ${actor.agentPoolId}`)
    .modifyEnd(lock ? tx.dialect.lockRows("f") : sql``)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const claim = issueClaim(row.runId);
  return claim.proofFor({ ...row, claim });
}

export type PhaseSignal = Pick<RunPhaseTable, "id" | "attempt" | "status" | "signal">;

export async function findSignals(tx: Tx, ids: readonly string[]): Promise<PhaseSignal[]> {
  return tx.db
    .selectFrom("runPhases")
    .select(["id", "attempt", "status", "signal"])
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

export interface LostPhase extends Pick<
  RunPhaseTable,
  "id" | "runId" | "kind" | "attempt" | "engineStarted" | "agentName" | "claimedMs" | "heardMs"
> {
  readonly nowMs: number;
}

export interface LostPhaseLimits {
  readonly silentMs: number;
  readonly planMs: number;
  readonly applyMs: number;
}

export async function findLostPhases(tx: Tx, limits: LostPhaseLimits, limit: number): Promise<LostPhase[]> {
  const { nowMs } = tx.dialect;
  const maxMs = sql`case when kind = 'plan' then ${sql.lit(limits.planMs)} else ${sql.lit(limits.applyMs)} end`;
  return tx.db
    .selectFrom("runPhases")
    .select(["id", "runId", "kind", "attempt", "engineStarted", "agentName", "claimedMs", "heardMs"])
    .select(nowMs.as("nowMs"))
    .where("status", "=", "running")
    .where(sql<boolean>`(heard_ms < ${nowMs} - ${sql.lit(limits.silentMs)} or claimed_ms < ${nowMs} - (${maxMs}))`)
    .orderBy("heardMs")
    .limit(limit)
    .execute();
}
