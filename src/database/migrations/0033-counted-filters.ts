/** Indexes for filters and sort orders in large organizations, and counters for SQLite (`database/counts.ts`). */
import type { Migration } from "./migration.ts";

const add = (table: string, columns: string, values: string) => `
  INSERT INTO ${table} (organization_id, ${columns}, number) VALUES (${values}, 1)
    ON CONFLICT (organization_id, ${columns}) DO UPDATE SET number = number + 1;`;

const takeOff = (table: string, is: string) => `
  UPDATE ${table} SET number = number - 1 WHERE ${is};
  DELETE FROM ${table} WHERE ${is} AND number = 0;`;

const addStatus = add("run_status_counts", "status", "NEW.organization_id, NEW.current_run_status");
const takeOffStatus = takeOff(
  "run_status_counts",
  "organization_id = OLD.organization_id AND status = OLD.current_run_status",
);
const addBinding = add("tag_binding_counts", "key, value", "NEW.organization_id, NEW.key, NEW.value");
const takeOffBinding = takeOff(
  "tag_binding_counts",
  "organization_id = OLD.organization_id AND key = OLD.key AND value = OLD.value",
);

const sqlite = [
  `CREATE TABLE run_status_counts (
    organization_id TEXT NOT NULL,
    status TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (organization_id, status)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE tag_binding_counts (
    organization_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (organization_id, key, value)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO run_status_counts (organization_id, status, number)
    SELECT organization_id, current_run_status, count(*) FROM workspaces
    WHERE current_run_status IS NOT NULL GROUP BY organization_id, current_run_status`,
  `INSERT INTO tag_binding_counts (organization_id, key, value, number)
    SELECT organization_id, key, value, count(*) FROM tag_bindings
    WHERE workspace_id IS NOT NULL GROUP BY organization_id, key, value`,

  `CREATE TRIGGER workspaces_status AFTER INSERT ON workspaces WHEN NEW.current_run_status IS NOT NULL BEGIN ${addStatus} END`,
  `CREATE TRIGGER workspaces_no_status AFTER DELETE ON workspaces WHEN OLD.current_run_status IS NOT NULL BEGIN ${takeOffStatus} END`,
  `CREATE TRIGGER workspaces_other_status AFTER UPDATE OF current_run_status ON workspaces
    WHEN NEW.current_run_status IS NOT NULL AND OLD.current_run_status IS NOT NEW.current_run_status BEGIN ${addStatus} END`,
  `CREATE TRIGGER workspaces_former_status AFTER UPDATE OF current_run_status ON workspaces
    WHEN OLD.current_run_status IS NOT NULL AND OLD.current_run_status IS NOT NEW.current_run_status BEGIN ${takeOffStatus} END`,

  `CREATE TRIGGER tag_bindings_counted AFTER INSERT ON tag_bindings WHEN NEW.workspace_id IS NOT NULL BEGIN ${addBinding} END`,
  `CREATE TRIGGER tag_bindings_not_counted AFTER DELETE ON tag_bindings WHEN OLD.workspace_id IS NOT NULL BEGIN ${takeOffBinding} END`,
  `CREATE TRIGGER tag_bindings_counted_anew AFTER UPDATE OF key, value ON tag_bindings WHEN NEW.workspace_id IS NOT NULL
    BEGIN ${takeOffBinding} ${addBinding} END`,
];

export const countedFilters: Migration = {
  name: "0033-counted-filters",
  kind: "adds",
  statements: [
    `DROP INDEX workspaces_project`,
    `CREATE INDEX workspaces_project ON workspaces (organization_id, project_id, name, id, name_key, current_run_status,
      latest_change_at, current_run_created_at)`,
  ],
  only: { sqlite, postgres: [] },
};
