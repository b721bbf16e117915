/** SQL for agents and the lost-job check: queued phases, claimed phases, signals, and phases whose agent is silent. */
import { type RawBuilder, sql } from "kysely";
import { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { Dialect } from "../../../database/dialect.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { poolServesCondition } from "../../connections/agent-pools/reads.ts";
import { sitePool } from "./rules.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

const issueClaim = Capability.issuer("claim");
export type ClaimCapability = Capability<"claim">;

export type AgentActor = Extract<Actor, { kind: "agent" }>;

/** The pool of an organization, or of the site, as its agents' tokens name it. */
export type ServingPool = Pick<AgentActor, "site" | "agentPoolId">;

export const poolOf = ({ site, agentPoolId }: ServingPool): string => (site ? sitePool : agentPoolId);

/** The `engineKey` of a phase `f`. */
export const queuedEngineKey = sql<string>`f.engine || ' ' || f.engine_version`;

const fetchRetryMs = 5 * 60_000;

/** An agent of a single job that could not fetch its engine leaves its report behind, so that the next agents don't try at once. */
export function hasFailedToFetch({ nowMs }: Dialect, agent: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${agent}.${name}`);
  return sql<boolean>`(${column("status")} = 'exited' and ${column("lastPingMs")} > ${nowMs} - ${sql.lit(fetchRetryMs)}
    and ${column("fetching")} like '{"%')`;
}

/** Whether the agent can't fetch the engine of a phase `f`. */
export const isUnavailable = ({ contains }: Dialect, agent: string): RawBuilder<unknown> =>
  contains(sql.ref(`${agent}.fetching`), sql<string>`'"' || ${queuedEngineKey} || '":'`);

export interface QueuedEngine {
  readonly pool: string;
  readonly engine: string;
  readonly engineVersion: string;
}

export const findQueuedEngines = prepared<object, QueuedEngine>((db) =>
  db.selectFrom("runPhases").select(["pool", "engine", "engineVersion"]).distinct().where("status", "=", "queued"),
);

/** Keys of `engineKey`. */
export interface ClaimableEngines {
  readonly installed: readonly string[];
  /** Undefined if the agent fetches no others. */
  readonly unavailable: readonly string[] | undefined;
}

export interface ClaimablePhase {
  readonly id: string;
  readonly runId: string;
  readonly kind: string;
  readonly attempt: number;
  readonly claim: ClaimCapability;
}

/** What agents of the pool can claim, if they have the engine. */
export function claimablePhases({ db }: Tx, pool: ServingPool) {
  const canServe: RawBuilder<unknown> = pool.site
    ? sql`1 = 1`
    : sql`exists (select 1 from agent_pools as p where p.id = ${pool.agentPoolId} and p.organization_id = f.organization_id
        and ${poolServesCondition(sql.ref("w.project_id"), sql.ref("w.id"))})`;
  return db
    .selectFrom("runPhases as f")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", openWithId("f.organizationId"))
    .where("f.status", "=", "queued")
    .where("f.pool", "=", poolOf(pool))
    .where("o.isDisabled", "=", 0)
    .where(sql<boolean>`${canServe}`);
}

/** Skips workspaces locked by another transaction, so that concurrent claims do not wait for each other. */
export async function findClaimablePhase(
  tx: Tx,
  actor: AgentActor,
  { installed, unavailable }: ClaimableEngines,
): Promise<ClaimablePhase | undefined> {
  const { isOneOf, lockRowsSkipLocked } = tx.dialect;
  const canFetch = unavailable === undefined ? sql`1 = 0` : sql`not (${isOneOf(queuedEngineKey, unavailable)})`;
  const row = await claimablePhases(tx, actor)
    .select(["f.id", "f.runId", "f.kind", "f.attempt"])
    .where(sql<boolean>`(${isOneOf(queuedEngineKey, installed)} or ${canFetch})`)
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
    .where(isInOpenOrganization("f.organizationId"))
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
    .where(isInOpenOrganization("runPhases.organizationId"))
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
    .where(isInOpenOrganization("runPhases.organizationId"))
    .where(sql<boolean>`(heard_ms < ${nowMs} - ${sql.lit(limits.silentMs)} or claimed_ms < ${nowMs} - (${maxMs}))`)
    .orderBy("heardMs")
    .limit(limit)
    .execute();
}
