/** Refuses to commit a transaction that wrote an audited row without recording the audit event for it. */
import type { CompiledQuery, QueryResult } from "kysely";
import type { CommitCheck, Database } from "../../../database/database.ts";
import { type AuditRule, auditRules } from "../../../database/schema/audited.ts";
import { type TableWrite, identifyingValues, writesOf } from "../../../database/statement-writes.ts";

export function requireAuditEvents(database: Database): Database {
  return {
    ...database,
    write: (work, options) => database.write(work, { commitCheck: () => new RequiredEvents(), ...options }),
  };
}

type Rule = AuditRule<Record<string, unknown>>;

interface AuditedWrite extends TableWrite {
  readonly rule: Rule;
  readonly ids: ReadonlyMap<string, readonly unknown[]>;
}

const rules: Readonly<Record<string, Rule | string>> = auditRules;

const unauditedColumns = ["version", "factsVersion", "defaultsVersion", "updatedAt"];

class RequiredEvents implements CommitCheck {
  readonly #writes: AuditedWrite[] = [];
  readonly #subjects: { readonly type: unknown; readonly id: unknown }[] = [];
  readonly #savepoints = new Map<string, readonly [number, number]>();

  note(query: CompiledQuery, result: QueryResult<unknown>): void {
    if (query.query.kind === "RawNode") this.#noteSavepoint(query.sql);
    const writes = writesOf(query);
    for (const write of writes) {
      if (write.table === "auditEvents") this.#noteEvents(query);
      const rule = rules[write.table];
      if (typeof rule !== "object" || needsNoEvent(rule, write)) continue;
      if (writes.length === 1 && result.rows.length === 0 && !result.numAffectedRows) continue;
      this.#writes.push({ ...write, rule, ids: idsIn(query, result, Object.keys(subjectColumnsOf(rule, write))) });
    }
  }

  /** Throws an internal error: callers can't do anything about it. */
  beforeCommit(): void {
    if (this.#writes.length === 0) return;
    const subjects = new Map<string, Set<unknown>>();
    for (const { type, id } of this.#subjects)
      subjects.set(String(type), (subjects.get(String(type)) ?? new Set()).add(id));
    const missing = this.#writes.filter((write) => !isAccountedFor(write, subjects));
    if (missing.length > 0) throw new Error(missing.map(messageOf).join(" "));
  }

  #noteEvents(query: CompiledQuery): void {
    const ids = identifyingValues(query, "subjectId") ?? [];
    for (const [row, type] of (identifyingValues(query, "subjectType") ?? []).entries())
      this.#subjects.push({ type, id: ids[row] });
  }

  #noteSavepoint(statement: string): void {
    const [, rollback, name = ""] = /^\s*(rollback\s+to\s+)?savepoint\s+(\w+)/i.exec(statement) ?? [];
    if (name !== "" && rollback === undefined) this.#savepoints.set(name, [this.#writes.length, this.#subjects.length]);
    if (rollback !== undefined) [this.#writes.length, this.#subjects.length] = this.#savepoints.get(name) ?? [0, 0];
  }
}

function isAccountedFor(write: AuditedWrite, subjects: ReadonlyMap<string, ReadonlySet<unknown>>): boolean {
  const { rule, ids } = write;
  const covering = Object.entries(rule.coveredBy ?? {}).filter(([type]) => subjects.has(type));
  if (covering.some(([, columns]) => columns === "all")) return true;
  if (needsNoEvent(rule, write, new Set(covering.flatMap(([, columns]) => columns)))) return true;
  return Object.entries(subjectColumnsOf(rule, write)).some(([column, types = []]) => {
    const recorded = [types].flat().flatMap((type) => subjects.get(type) ?? []);
    const named = ids.get(column);
    if (named === undefined) return ids.size === 0 && recorded.length > 0;
    return named.length > 0 && named.every((id) => recorded.some((each) => each.has(id)));
  });
}

const subjectColumnsOf = ({ subjects, orParents }: Rule, { kind }: TableWrite) =>
  kind === "update" ? subjects : { ...subjects, ...orParents };

/** `covered`: columns that another event covers. */
function needsNoEvent({ needsNone = [] }: Rule, { kind, columns }: TableWrite, covered?: ReadonlySet<string>): boolean {
  if (kind !== "update") return needsNone.includes(kind);
  return (
    columns?.every(
      (column) => unauditedColumns.includes(column) || needsNone.includes(column) || covered?.has(column),
    ) ?? false
  );
}

function idsIn(query: CompiledQuery, result: QueryResult<unknown>, columns: readonly string[]): AuditedWrite["ids"] {
  const ids = new Map<string, readonly unknown[]>();
  const rows = result.rows as readonly Record<string, unknown>[];
  for (const column of columns) {
    const named = rows[0]?.[column] === undefined ? identifyingValues(query, column) : rows.map((row) => row[column]);
    if (named !== undefined)
      ids.set(
        column,
        named.filter((id) => id !== null && id !== undefined),
      );
  }
  return ids;
}

function messageOf({ table, kind, columns, rule, ids }: AuditedWrite): string {
  const named = [...ids].map(([column, each]) => `${column} ${each.slice(0, 5).join(", ")}`).join("; ");
  const types = [...Object.values(rule.subjects).flat(), ...Object.keys(rule.coveredBy ?? {})].join(" or ");
  return `Audit event missing: the ${kind} of ${table}${columns === undefined ? "" : `.${columns.join(", ")}`} (${named || "rows that the statement does not name"}) needs an event about ${types}. Nothing was committed. Record the event with recordChange or recordEvent, or declare in src/database/schema/audited.ts why none is needed.`;
}
