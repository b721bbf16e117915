/** Invariants after a stress test: consistent counters and lists, and no deadlock in PostgreSQL's statistics. */
import pg from "pg";
import { sql } from "kysely";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../src/database/database.ts";

/** Each query finds rows that contradict others. */
const contradictions: Readonly<Record<string, string>> = {
  "projects.workspace_count": `
    select p.id, p.workspace_count as stored from projects as p
    where p.workspace_count <> (select count(*) from workspaces where project_id = p.id)`,
  "projects.team_count": `
    select p.id, p.team_count as stored from projects as p
    where p.team_count <> (select count(*) from team_projects where project_id = p.id)`,
  "organizations.project_count": `
    select o.id, o.project_count as stored from organizations as o
    where o.project_count <> (select count(*) from projects where organization_id = o.id)`,
  "tags.instance_count": `
    select t.id, t.instance_count as stored from tags as t
    where t.instance_count = 0 or t.instance_count <> (select count(*) from workspace_tags where tag_id = t.id)`,
  "teams.users_count": `
    select t.id, t.users_count as stored from teams as t
    where t.users_count <> (select count(*) from team_members where team_id = t.id and user_id is not null)`,
  "team_members.user_id": `
    select m.id, m.user_id as stored from organization_memberships as m inner join team_members as tm on tm.membership_id = m.id
    where coalesce(tm.user_id, '') <> coalesce(m.user_id, '')`,
  "workspaces.tag_names": `
    select w.id, w.tag_names as stored from workspaces as w
    where w.tag_names <> coalesce((
      select string_agg(t.name, ',' order by t.name) from workspace_tags as wt inner join tags as t on t.id = wt.tag_id
      where wt.workspace_id = w.id), '')`,
  "workspaces.var_ids": `
    select w.id, w.var_ids as stored from workspaces as w
    where (select count(*) from vars where workspace_id = w.id) <>
      case w.var_ids when '' then 0 else 1 + length(w.var_ids) - length(replace(w.var_ids, ',', '')) end`,
  "agent_pool_scopes.target_id": `
    select s.agent_pool_id as id, s.target_id as stored from agent_pool_scopes as s
    where s.target_id not in (select id from workspaces union all select id from projects)`,
  "projects.default_agent_pool_id": `
    select p.id, p.default_agent_pool_id as stored from projects as p
    where p.default_agent_pool_id is not null and p.default_agent_pool_id not in (select id from agent_pools)`,
  "organizations.default_agent_pool_id": `
    select o.id, o.default_agent_pool_id as stored from organizations as o
    where o.default_agent_pool_id is not null and o.default_agent_pool_id not in (select id from agent_pools)`,
  "workspaces.locked_by_id": `
    select w.id, w.locked_by_id as stored from workspaces as w
    where w.locked_by_type = 'runs' and not exists (select 1 from runs as r where r.id = w.locked_by_id and r.ended_at is null)`,
  "runs.status": `
    select r.id, r.status as stored from runs as r inner join workspaces as w on w.id = r.workspace_id
    where (r.status = 'pending' and w.locked_by_type is null)
      or (r.plan_only = 0 and r.save_plan = 0 and r.ended_at is null and r.status <> 'pending' and w.locked_by_id <> r.id)`,
  "workspaces.current_run_status": `
    select w.id, w.current_run_status as stored from workspaces as w inner join runs as r on r.id = w.current_run_id
    where r.status <> w.current_run_status or r.plan_only = 1`,
  "run_phases.log_ended": `
    select f.id, f.status as stored from run_phases as f
    where f.log_ended <> case when f.status in ('finished', 'errored', 'canceled', 'unreachable') then 1 else 0 end`,
};

export async function contradictionsIn({ reader }: Database): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const [name, query] of Object.entries(contradictions)) {
    const { rows } = await sql.raw(query).execute(reader.db);
    if (rows.length > 0) found[name] = rows;
  }
  return found;
}

/** With the log's entries. All sessions must have ended, because they report their counts at the end. */
export async function deadlocksIn(address: string): Promise<{ count: number; statements: string[] }> {
  const url = new URL(address);
  const name = url.pathname.slice(1);
  url.pathname = "/postgres";
  const client = new pg.Client({ connectionString: url.toString() });
  await client.connect();
  try {
    for (let sessions = 1; sessions > 0; await sleep(20)) {
      const { rows } = await client.query("select count(*) as n from pg_stat_activity where datname = $1", [name]);
      sessions = Number(rows[0].n);
    }
    const { rows } = await client.query(
      "select deadlocks, pg_read_file(pg_current_logfile()) as log from pg_stat_database where datname = $1",
      [name],
    );
    return { count: Number(rows[0].deadlocks), statements: deadlockEntries(rows[0].log, name) };
  } finally {
    await client.end();
  }
}

function deadlockEntries(log: string, database: string): string[] {
  const entries = log.split(new RegExp(`^(?=${database}\\|ERROR)`, "m"));
  return entries
    .filter((entry) => entry.startsWith(`${database}|ERROR:  deadlock detected`))
    .map((entry) =>
      [...entry.matchAll(/Process \d+: (.*)$/gm)].map(([, text]) => (text ?? "").slice(0, 300)).join("\n  ⇄ "),
    );
}
