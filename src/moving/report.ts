/** The report of an import. */
import { sql } from "kysely";
import type { Tx } from "../database/database.ts";
import { sealOverheadBytes, type Vault } from "../database/vault.ts";
import { fold } from "../kernel/text.ts";
import { valueOwner } from "../resources/connections/ssh-keys/rules.ts";

export type ImportOutcome = "imported" | "existing" | "skipped";

export interface ImportGap {
  readonly kind: string;
  readonly thing: string;
  readonly reason: string;
}

/** The names of `cadastre import --json`, which can't change: `brought` is imported, `here` existing, `left` skipped. */
export interface ImportCount {
  readonly kind: string;
  readonly brought: number;
  readonly here: number;
  readonly left: number;
}

export class ImportReport {
  readonly gaps: ImportGap[] = [];
  /** Also of earlier imports; in a dry run, also those that the import would leave empty. */
  readonly missingSecrets: ImportGap[] = [];
  readonly notes: string[] = [];
  readonly #counts = new Map<string, Record<ImportOutcome, number>>();

  count(kind: string, outcome: ImportOutcome, by = 1): void {
    const counts = this.#counts.get(kind) ?? { imported: 0, existing: 0, skipped: 0 };
    counts[outcome] += by;
    this.#counts.set(kind, counts);
  }

  gap(kind: string, thing: string, reason: string): void {
    this.gaps.push({ kind, thing, reason: reason.replace(/\.$/, "") });
  }

  skip(kind: string, thing: string, reason: string): void {
    this.count(kind, "skipped");
    this.gap(kind, thing, reason);
  }

  addMissingSecret(kind: string, thing: string, reason: string): void {
    this.missingSecrets.push({ kind, thing, reason });
  }

  get counts(): ImportCount[] {
    return [...this.#counts].map(([kind, { imported, existing, skipped }]) => ({
      kind,
      brought: imported,
      here: existing,
      left: skipped,
    }));
  }

  done(kind: string): number {
    const counts = this.#counts.get(kind);
    return counts === undefined ? 0 : counts.imported + counts.existing + counts.skipped;
  }
}

export interface MissingSecret extends ImportGap {
  readonly organization: string;
}

/** Stored in databases, so it must not change. */
const placeholderKeyPrefix = "Replace this by the private key: ";

/** Not a valid key, so that a run with it fails with this text. */
export const placeholderKey = (from: string): string => `${placeholderKeyPrefix}${from} doesn't reveal it.`;

export const poolReason = "a token for its agents; create one and start them with it";
export const keyReason = "its value";
export const variableReason = (category: string): string => `its value (${category})`;

export async function listMissingSecrets(tx: Tx, vault: Vault, organization?: string): Promise<MissingSecret[]> {
  const nameKey = organization === undefined ? undefined : fold(organization);
  return [
    ...(await listKeys(tx, vault, nameKey)),
    ...(await listPools(tx, nameKey)),
    ...(await listVariables(tx, nameKey)),
  ];
}

function importedTo(tx: Tx, nameKey: string | undefined) {
  return tx.db
    .selectFrom("openOrganizations as o")
    .where((where) =>
      where.exists(where.selectFrom("importLinks as l").select("l.ourId").whereRef("l.organizationId", "=", "o.id")),
    )
    .$if(nameKey !== undefined, (query) => query.where("o.nameKey", "=", nameKey ?? ""));
}

async function listKeys(tx: Tx, vault: Vault, nameKey: string | undefined): Promise<MissingSecret[]> {
  const rows = await importedTo(tx, nameKey)
    .innerJoin("sshKeys as k", "k.organizationId", "o.id")
    .select(["o.name as organization", "k.id", "k.name as thing", "k.value"])
    .orderBy("o.nameKey")
    .orderBy("k.nameKey")
    .execute();
  return rows
    .filter(({ id, value }) =>
      Buffer.from(vault.open(valueOwner(id), value))
        .toString()
        .startsWith(placeholderKeyPrefix),
    )
    .map(({ organization, thing }) => ({ organization, kind: "ssh-keys", thing, reason: keyReason }));
}

async function listPools(tx: Tx, nameKey: string | undefined): Promise<MissingSecret[]> {
  const rows = await importedTo(tx, nameKey)
    .innerJoin("agentPools as p", "p.organizationId", "o.id")
    .leftJoin("agentTokens as t", "t.agentPoolId", "p.id")
    .select(["o.name as organization", "p.name as thing"])
    .where("t.id", "is", null)
    .orderBy("o.nameKey")
    .orderBy("p.nameKey")
    .execute();
  return rows.map((row) => ({ ...row, kind: "agent-pools", reason: poolReason }));
}

/** An interrupted import may not have recorded the variable itself. */
async function listVariables(tx: Tx, nameKey: string | undefined): Promise<MissingSecret[]> {
  const rows = await importedTo(tx, nameKey)
    .innerJoin("vars as v", "v.organizationId", "o.id")
    .leftJoin("workspaces as w", "w.id", "v.workspaceId")
    .leftJoin("varsets as s", "s.id", "v.varsetId")
    .select(["o.name as organization", "v.key", "v.category"])
    .select((select) => select.fn.coalesce("w.name", "s.name").as("owner"))
    .where("v.sensitive", "=", 1)
    .where(sql<number>`length(v.value)`, "=", sealOverheadBytes)
    .where((where) =>
      where.exists(
        where
          .selectFrom("importLinks as b")
          .select("b.ourId")
          .whereRef("b.organizationId", "=", "o.id")
          .where("b.kind", "in", ["workspaces", "varsets"])
          .whereRef("b.ourId", "=", (reference) => reference.fn.coalesce("v.workspaceId", "v.varsetId")),
      ),
    )
    .orderBy("o.nameKey")
    .orderBy("owner")
    .orderBy("v.key")
    .execute();
  return rows.map(({ organization, owner, key, category }) => ({
    organization,
    kind: "vars",
    thing: `${owner}, ${key}`,
    reason: variableReason(category),
  }));
}
