/** The look-up of those who are no people, teams or organizations: agents, by their pools' tokens, and runs. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import { between, type TokenTold } from "./store.ts";

/** What stands for an agent or for a run: no token of a person, a team or an organization has its hash. */
const machineTold = {
  kind: { agent: sql`'agent'`, run: sql`'run'` },
  id: { agent: sql`k.id`, run: sql`f.id` },
  hash: { agent: sql`k.hash`, run: sql`f.token_hash` },
  agentPoolId: { agent: sql`coalesce(k.agent_pool_id, k.site_agent_pool_id)`, run: sql`''` },
  poolName: { agent: sql`coalesce(p.name, s.name)`, run: sql`''` },
  organizationId: { agent: sql`k.organization_id`, run: sql`f.organization_id` },
  runId: { agent: sql`''`, run: sql`f.run_id` },
  workspaceId: { agent: sql`''`, run: sql`f.workspace_id` },
} as const;
type MachineFact = keyof typeof machineTold;

/** As text; empty where there is nothing. */
export type MachineHolder = Readonly<Record<MachineFact, string>>;

const facts = (kind: "agent" | "run") =>
  sql.join(
    Object.values(machineTold).map((fact) => sql`coalesce(cast(${fact[kind]} as text), '')`),
    sql.raw(`|| '${between}' ||`),
  );

const findMachine = prepared<{ hash: string }, { told: string; moment: string | null }>((db, { hash }, dialect) => {
  // A phase that has ended, or that another agent has, has no hash or another.
  const found = sql<{ told: string; moment: string | null }>`
    select ${facts("agent")} as told, ${dialect.moment} as moment from agent_tokens as k
    left join agent_pools as p on p.id = k.agent_pool_id
    left join site_agent_pools as s on s.id = k.site_agent_pool_id
    where k.hash = ${hash}
    union all
    select ${facts("run")} as told, ${dialect.moment} as moment from run_phases as f
    where f.token_hash = ${hash} and f.status = 'running'`;
  return { compile: () => found.compile(db) };
});

/** The second look, for a secret that is nobody's among the tokens of people, teams and organizations. */
export async function machineWith(tx: Tx, hash: string): Promise<TokenTold | undefined> {
  const [row] = await findMachine(tx, { hash });
  // Nothing that agents and runs are shown rests on what teams were given.
  return row && { holder: row.told, moment: row.moment, nextEnd: null, says: null };
}

const findRunning = prepared<{ id: string }, { told: string; moment: string | null }>((db, { id }, dialect) => {
  const found = sql<{ told: string; moment: string | null }>`
    select ${facts("run")} as told, ${dialect.moment} as moment from run_phases as f
    where f.id = ${id} and f.status = 'running' and f.token_hash is not null`;
  return { compile: () => found.compile(db) };
});

/** A phase that is executed, by its id. */
export async function runningPhase(tx: Tx, id: string): Promise<Pick<TokenTold, "holder"> | undefined> {
  const [row] = await findRunning(tx, { id });
  return row && { holder: row.told };
}

export function machineIn(text: string): MachineHolder {
  const values = text.split(between);
  return Object.fromEntries(Object.keys(machineTold).map((name, at) => [name, values[at] ?? ""])) as MachineHolder;
}
