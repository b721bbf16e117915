/** The counters of 0033 for PostgreSQL. A counter row would serialize writers, so triggers insert differences (`database/counts.ts`). */
import type { Migration } from "./migration.ts";

interface DifferenceCounter {
  readonly name: string;
  readonly columns: readonly string[];
  readonly of: { readonly table: string; readonly columns: readonly string[]; readonly isCounted: string };
}

const statuses: DifferenceCounter = {
  name: "run_status",
  columns: ["status"],
  of: { table: "workspaces", columns: ["current_run_status"], isCounted: "current_run_status" },
};
const bindings: DifferenceCounter = {
  name: "tag_binding",
  columns: ["key", "value"],
  of: { table: "tag_bindings", columns: ["key", "value"], isCounted: "workspace_id" },
};

function counting({ name, columns, of }: DifferenceCounter): string[] {
  const listed = ["organization_id", ...columns].join(", ");
  const note = (row: "OLD" | "NEW", number: number) => {
    const values = ["organization_id", ...of.columns].map((column) => `${row}.${column}`).join(", ");
    return `INSERT INTO ${name}_differences (${listed}, number) VALUES (${values}, ${number});`;
  };
  // One function per kind of change, because either row may be missing.
  const noting = (verb: string, statements: string) =>
    `CREATE FUNCTION ${name}_${verb}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statements} RETURN NULL; END $$`;
  const trigger = (verb: string, event: string, when: string) =>
    `CREATE TRIGGER ${of.table}_${name}_${verb} AFTER ${event} ON ${of.table} FOR EACH ROW WHEN (${when})
      EXECUTE FUNCTION ${name}_${verb}()`;
  const isCounted = (row: "OLD" | "NEW") => `${row}.${of.isCounted} IS NOT NULL`;
  const changes = of.columns.map((column) => `OLD.${column} IS DISTINCT FROM NEW.${column}`).join(" OR ");
  const either = (row: "OLD" | "NEW", number: number) => `IF ${isCounted(row)} THEN ${note(row, number)} END IF;`;
  const typed = ["organization_id", ...columns].map((column) => `${column} text COLLATE "C" NOT NULL,`).join(" ");
  return [
    `CREATE TABLE ${name}_counts (${typed} number bigint NOT NULL, PRIMARY KEY (${listed}))`,
    `CREATE INDEX ${name}_counts_none ON ${name}_counts (organization_id) WHERE number = 0`,
    `CREATE TABLE ${name}_differences (${typed} number bigint NOT NULL)`,
    `CREATE INDEX ${name}_differences_asked ON ${name}_differences (${listed})`,
    `INSERT INTO ${name}_counts (${listed}, number)
      SELECT organization_id, ${of.columns.join(", ")}, count(*) FROM ${of.table} WHERE ${of.isCounted} IS NOT NULL
      GROUP BY organization_id, ${of.columns.join(", ")}`,
    noting("counted", note("NEW", 1)),
    noting("not_counted", note("OLD", -1)),
    noting("counted_anew", `${either("OLD", -1)} ${either("NEW", 1)}`),
    trigger("counted", "INSERT", isCounted("NEW")),
    trigger("not_counted", "DELETE", isCounted("OLD")),
    trigger("counted_anew", `UPDATE OF ${of.columns.join(", ")}`, changes),
  ];
}

export const countedDifferences: Migration = {
  name: "0036-counted-differences",
  kind: "adds",
  statements: [],
  only: { sqlite: [], postgres: [...counting(statuses), ...counting(bindings)] },
};
