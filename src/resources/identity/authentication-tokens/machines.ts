/** Authenticates agents and runs. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { type ChangeParameters, noChanges } from "../../../database/organization-changes.ts";
import { prepared } from "../../../database/prepared.ts";
import { fieldSeparator, type TokenLookup } from "./store.ts";
import { isInOpenOrganization } from "../../shared/open-organizations.ts";

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

type MachineRow = { holder: string; snapshot: string | null };

const findMachine = prepared<{ hash: string } & ChangeParameters, MachineRow>(
  (db, { hash, changedAfter, changedIn }, dialect) => {
    // A phase's hash is removed when the phase ends, and replaced when another agent takes over.
    const found = sql<MachineRow>`
    select ${machineText("agent")} as holder, ${dialect.snapshotId({ changedAfter, changedIn })} as snapshot from agent_tokens as k
    left join agent_pools as p on p.id = k.agent_pool_id
    left join site_agent_pools as s on s.id = k.site_agent_pool_id
    where k.hash = ${hash} and ${isInOpenOrganization("k.organizationId")}
    union all
    select ${machineText("run")} as holder, ${dialect.snapshotId({ changedAfter, changedIn })} as snapshot from run_phases as f
    where f.token_hash = ${hash} and f.status = 'running' and ${isInOpenOrganization("f.organizationId")}`;
    return { compile: () => found.compile(db) };
  },
);

export async function findMachineToken(tx: Tx, hash: string): Promise<TokenLookup | undefined> {
  const observation = tx.commits?.begin();
  const [row] = await findMachine(tx, { hash, ...(observation?.parameters ?? noChanges) });
  if (row === undefined) return undefined;
  const snapshotId = observation?.end(row.snapshot ?? "");
  // Responses to agents and runs don't depend on team grants, which can expire.
  return { holder: row.holder, snapshotId, nextGrantExpiry: null, version: null };
}

const findRunningPhase = prepared<{ id: string }, { holder: string }>((db, { id }) => {
  const found = sql<{ holder: string }>`
    select ${machineText("run")} as holder from run_phases as f
    where f.id = ${id} and f.status = 'running' and f.token_hash is not null
      and ${isInOpenOrganization("f.organizationId")}`;
  return { compile: () => found.compile(db) };
});

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
