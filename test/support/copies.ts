/** Copies organizations row by row, which is cheaper than HTTP. A copy has no audit events. */
import { randomBytes } from "node:crypto";
import type { Database, Tx } from "../../src/database/database.ts";
import { insertRow } from "../../src/database/prepared.ts";
import type { Schema } from "../../src/database/schema/schema.ts";
import { newToken, tokenHash } from "../../src/kernel/ids.ts";
import { now } from "../../src/kernel/time.ts";

type Row = Record<string, unknown>;

/** In the order in which the rows can be inserted. */
const organizationTables = [
  "organizations",
  "organizationTokenTtlPolicies",
  "projects",
  "teams",
  "organizationMemberships",
  "teamMembers",
] as const satisfies readonly (keyof Schema)[];

export interface OrganizationTemplate {
  readonly rows: readonly (readonly [keyof Schema, Row])[];
  readonly names: { readonly organization: string; readonly username: string; readonly email: string };
  readonly adminId: string;
}

export async function adminIdIn({ reader }: Database): Promise<string | undefined> {
  const admin = await reader.db.selectFrom("users").select("id").where("usernameKey", "=", "admin").executeTakeFirst();
  return admin?.id;
}

export async function readOrganizationTemplate(
  database: Database,
  {
    id,
    name,
    owner,
  }: { readonly id: string; readonly name: string; readonly owner: { id: string; username: string; email: string } },
): Promise<OrganizationTemplate> {
  const { db } = database.reader;
  const rows: [keyof Schema, Row][] = [];
  const add = (table: keyof Schema, found: readonly object[]) =>
    rows.push(...found.map((row): [keyof Schema, Row] => [table, row as Row]));
  add("users", await db.selectFrom("users").selectAll().where("id", "=", owner.id).execute());
  add("tokens", await db.selectFrom("tokens").selectAll().where("userId", "=", owner.id).execute());
  for (const table of organizationTables) {
    const column = table === "organizations" ? "id" : "organizationId";
    add(
      table,
      await db
        .selectFrom(table)
        .selectAll()
        .where(column as never, "=", id as never)
        .execute(),
    );
  }
  const adminId = (await adminIdIn(database)) ?? "";
  return { rows, names: { organization: name, username: owner.username, email: owner.email }, adminId };
}

/** Maps the original's values to the copy's. */
function replacements(
  original: OrganizationTemplate,
  names: OrganizationTemplate["names"],
  adminId: string,
): Map<unknown, string> {
  const ids = original.rows.flatMap(([, { id }]) => (typeof id === "string" ? [id] : []));
  return new Map([
    ...ids.map((id): [string, string] => [id, id.replace(/[^-]+$/, randomBytes(8).toString("hex"))]),
    [original.adminId, adminId],
    [original.names.organization, names.organization],
    [original.names.username, names.username],
    [original.names.email, names.email],
  ]);
}

export async function copyOrganization(
  tx: Tx,
  original: OrganizationTemplate,
  names: OrganizationTemplate["names"],
  adminId: string,
): Promise<{ secret: string; rowsOf: (table: keyof Schema) => Row[] }> {
  const own = replacements(original, names, adminId);
  const secret = newToken();
  const at = now();
  const valueOf = (column: string, value: unknown): unknown =>
    column === "hash"
      ? tokenHash(secret)
      : ["createdAt", "updatedAt"].includes(column)
        ? at
        : (own.get(value) ?? value);
  const written = original.rows.map(
    ([table, row]) =>
      [
        table,
        Object.fromEntries(Object.entries(row).map(([column, value]) => [column, valueOf(column, value)])),
      ] as const,
  );
  for (const [table, row] of written) await insertRow(tx, table, row as never);
  return { secret, rowsOf: (table) => written.filter(([each]) => each === table).map(([, row]) => row) };
}
