/** SQL for finding workspaces whose scheduled destroy is due. */
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { nowMs as presentMs } from "../../../kernel/time.ts";
import { isInOpenOrganization } from "../../shared/open-organizations.ts";

/** `14d` or `12h` in milliseconds. */
const msOfDuration = (column: string): RawBuilder<number> => {
  const duration = sql.ref<string>(column);
  return sql<number>`cast(substr(${duration}, 1, length(${duration}) - 1) as bigint)
    * case when substr(${duration}, length(${duration}), 1) = 'd' then 86400000 else 3600000 end`;
};

export interface DueWorkspaceQuery {
  readonly limit: number;
  readonly withinMs?: number;
  readonly remind?: { readonly trigger: string; readonly afterId: string };
}

/** Must match `scheduledMs`. After a failure, a duration counts again only after new activity. */
export async function findDueWorkspaceIds(
  tx: Tx,
  { limit, withinMs = 0, remind }: DueWorkspaceQuery,
): Promise<string[]> {
  const { msOf, nowMs, contains } = tx.dialect;
  const untilIso = new Date(presentMs() + withinMs).toISOString();
  const hasElapsed = (instant: string, duration: string) =>
    sql`${msOf(sql.ref(instant))} + ${msOfDuration(duration)} <= ${nowMs} + cast(${withinMs} as bigint)`;
  const isIdle = (duration: string) => sql`
    (w.resource_count > 0 or w.state_encrypted = 1) and coalesce(w.auto_destroy_status, '') not in ('queued', 'errored')
    and ${hasElapsed("w.createdAt", duration)} and ${hasElapsed("w.latestChangeAt", duration)}
    and (w.current_run_created_at is null or ${hasElapsed("w.currentRunCreatedAt", duration)})`;
  const isSubscribed = contains(sql.ref("c.triggers"), `"${remind?.trigger}"`);
  const reminderCondition =
    remind === undefined
      ? sql``
      : sql`where id > ${remind.afterId} and exists (
          select 1 from workspaces as w inner join notification_configurations as c on c.organization_id = w.organization_id
          where w.id = due.id and c.enabled = 1 and ${isSubscribed}
            and (c.team_id is not null or c.subscribable_id in (w.id, w.project_id)))`;
  const { rows } = await sql<{ id: string }>`
    select id from (
      select w.id from workspaces as w inner join projects as p on p.id = w.project_id
      where w.auto_destroy_at is not null and w.auto_destroy_at <= ${untilIso} and coalesce(w.auto_destroy_status, '') <> 'queued'
        and ${isInOpenOrganization("w.organizationId")}
        and case when w.inherits_project_auto_destroy = 1 then p.auto_destroy_activity_duration
          else w.auto_destroy_activity_duration end is null
      union all
      select w.id from workspaces as w
      where w.auto_destroy_activity_duration is not null and w.inherits_project_auto_destroy = 0
        and ${isIdle("w.autoDestroyActivityDuration")} and ${isInOpenOrganization("w.organizationId")}
      union all
      select w.id from projects as p
      inner join workspaces as w on w.organization_id = p.organization_id and w.project_id = p.id
      where p.auto_destroy_activity_duration is not null and w.inherits_project_auto_destroy = 1
        and ${isIdle("p.autoDestroyActivityDuration")} and ${isInOpenOrganization("p.organizationId")}
    ) as due ${reminderCondition} order by id limit ${limit}`.execute(tx.db);
  return rows.map(({ id }) => id);
}
