/** Reads the access version, which changes with every change of access in an organization. */
import { type Expression, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { inForce } from "../../shared/grants/in-force.ts";

export { firstInProjects } from "./store.ts";

interface AccessVersionRow {
  readonly currentAccessVersion: number | null;
  readonly nextExpiresAt: string | null;
}

export const accessVersionText = ({ currentAccessVersion, nextExpiresAt }: AccessVersionRow): string =>
  nextExpiresAt === null ? `${currentAccessVersion}` : `${currentAccessVersion}.${Date.parse(nextExpiresAt)}`;

export function accessVersionColumns(organizationId: Expression<string>) {
  const nextExpiry = sql<string | null>`(select min(coming.ends) from (
    select min(tm.expires_at) as ends from team_members as tm
      where tm.organization_id = ${organizationId} and tm.expires_at is not null and ${inForce("tm")}
    union all select min(tp.expires_at) from team_projects as tp
      where tp.organization_id = ${organizationId} and tp.expires_at is not null and ${inForce("tp")}
    union all select min(tw.expires_at) from team_workspaces as tw
      where tw.organization_id = ${organizationId} and tw.expires_at is not null and ${inForce("tw")}) as coming)`;
  const version = sql<number | null>`(
    select av.version from access_versions as av where av.organization_id = ${organizationId})`;
  return [version.as("currentAccessVersion"), nextExpiry.as("nextExpiresAt")] as const;
}

/** Also differs when access expires. */
export async function accessVersionOf(tx: Tx, organizationId: string): Promise<string> {
  const columns = accessVersionColumns(sql<string>`${organizationId}`);
  return accessVersionText(await tx.db.selectNoFrom(columns).executeTakeFirstOrThrow());
}
