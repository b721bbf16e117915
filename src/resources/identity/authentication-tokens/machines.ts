/** Authenticates agents and runs. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import { fieldSeparator, type TokenLookup } from "./store.ts";

/** In the order of the encoded text. */
const machineColumns = {
  kind: { agent: sql`'agent'`, run: sql`'run'` },
  id: { agent: sql`k.id`, run: sql`f.id` },
  hash: { agent: sql`k.hash`, run: sql`f.token_hash` },
  agentPoolId: { agent: sql`coalesce(k.agent_pool_id, k.site_agent_pool_id)`, run: sql`''` },
  poolName: { agent: sql`coalesce(p.name, s.name)`, run: sql`''` },
  organizationId: { agent: sql`k.organization_id`, run: sql`f.organization_id` },
  runId: { agent: sql`''`, run: sql`f.run_id` },
  workspaceId: { agent: sql`''`, run: sql`f.workspace_id` },
} as const;
type MachineField = keyof typeof machineColumns;

/** Missing values are empty. */
export type MachineHolder = Readonly<Record<MachineField, string>>;

const machineText = (kind: "agent" | "run") =>
  sql.join(
    Object.values(machineColumns).map((field) => sql`coalesce(cast(${field[kind]} as text), '')`),
    sql.raw(`|| '${fieldSeparator}' ||`),
  );

const findMachine = prepared<{ hash: string }, { holder: string; snapshot: string | null }>((db, { hash }, dialect) => {
  // A phase's hash is removed when the phase ends, and replaced when another agent takes over.
  const found = sql<{ holder: string; snapshot: string | null }>`
    select ${machineText("agent")} as holder, ${dialect.snapshotId} as snapshot from agent_tokens as k
    left join agent_pools as p on p.id = k.agent_pool_id
    left join site_agent_pools as s on s.id = k.site_agent_pool_id
    where k.hash = ${hash}
    union all
    select ${machineText("run")} as holder, ${dialect.snapshotId} as snapshot from run_phases as f
    where f.token_hash = ${hash} and f.status = 'running'`;
  return { compile: () => found.compile(db) };
});

export async function findMachineToken(tx: Tx, hash: string): Promise<TokenLookup | undefined> {
  const [row] = await findMachine(tx, { hash });
  // Responses to agents and runs don't depend on team grants, which can expire.
  return row && { holder: row.holder, snapshotId: row.snapshot, nextGrantExpiry: null, version: null };
}

const findRunningPhase = prepared<{ id: string }, { holder: string; snapshot: string | null }>(
  (db, { id }, dialect) => {
    const found = sql<{ holder: string; snapshot: string | null }>`
    select ${machineText("run")} as holder, ${dialect.snapshotId} as snapshot from run_phases as f
    where f.id = ${id} and f.status = 'running' and f.token_hash is not null`;
    return { compile: () => found.compile(db) };
  },
);

export async function runningPhase(tx: Tx, id: string): Promise<Pick<TokenLookup, "holder"> | undefined> {
  const [row] = await findRunningPhase(tx, { id });
  return row && { holder: row.holder };
}

export function parseMachineHolder(text: string): MachineHolder {
  const values = text.split(fieldSeparator);
  return Object.fromEntries(
    Object.keys(machineColumns).map((name, index) => [name, values[index] ?? ""]),
  ) as MachineHolder;
}
