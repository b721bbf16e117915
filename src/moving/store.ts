/** SQL of imports. */
import type { Capability } from "../access/capability.ts";
import { sql } from "kysely";
import type { Tx } from "../database/database.ts";
import type { ImportLinkTable } from "../database/schema/imports.ts";
import { fold } from "../kernel/text.ts";
import { now } from "../kernel/time.ts";

export type ImportLink = Pick<ImportLinkTable, "kind" | "sourceId" | "ourId">;

export async function readLinks(tx: Tx, organizationId: string, source: string): Promise<ImportLink[]> {
  return tx.db
    .selectFrom("importLinks")
    .select(["kind", "sourceId", "ourId"])
    .where("organizationId", "=", organizationId)
    .where("source", "=", source)
    .execute();
}

/** Replaces links whose target no longer exists. */
export async function writeLinks(
  tx: Tx,
  by: Capability<"import">,
  { organizationId, source }: Pick<ImportLinkTable, "organizationId" | "source">,
  links: readonly ImportLink[],
): Promise<void> {
  if (links.length === 0) return;
  const createdAt = now();
  await tx.db
    .insertInto("importLinks")
    .values(links.map((link) => by.proofFor({ organizationId, source, ...link, createdAt })))
    .onConflict((taken) =>
      taken
        .columns(["organizationId", "source", "kind", "sourceId"])
        .doUpdateSet((set) => ({ ourId: set.ref("excluded.ourId") })),
    )
    .execute();
}

/** By folded email address. Leaves out managed users, whose address is proven only to their own organization. */
export async function findUsers(tx: Tx, emails: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.db
    .selectFrom("users")
    .select(["id", "emailKey"])
    .where(tx.dialect.isOneOf(sql.ref("emailKey"), emails.map(fold)))
    .where("managedById", "is", null)
    .execute();
  return new Map(rows.map(({ id, emailKey }) => [emailKey, id]));
}

export async function readStatuses(tx: Tx, workspaceId: string): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.db
    .selectFrom("stateVersions")
    .select(["id", "status"])
    .where("workspaceId", "=", workspaceId)
    .execute();
  return new Map(rows.map(({ id, status }) => [id, status]));
}

export async function readLatestRun(tx: Tx, workspaceId: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("runs")
    .select("id")
    .where("workspaceId", "=", workspaceId)
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

export async function findOrganizationOfRule(tx: Tx, ruleId: string): Promise<string | null> {
  const rule = await tx.db
    .selectFrom("accessRules")
    .select("organizationId")
    .where("id", "=", ruleId)
    .executeTakeFirst();
  return rule?.organizationId ?? null;
}
