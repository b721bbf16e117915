/** Indexes for searches and filters in large organizations, such as the trigram index of workspace names (`database/name-index.ts`). */
import type { Migration } from "./migration.ts";

/** Batch size on SQLite: indexing names one by one makes a creation half as expensive again. Searches scan unindexed names. */
const waitingMax = 256;

/** An organization's numbers start at its own number times 2^32, so that its part of the index is a range. */
const first = "(r.number << 32)";

/** Latest run first, those without one last, ties by id. The opposite direction would order ties, and on PostgreSQL nulls, differently. */
const latestRun = (direction: string) =>
  `CREATE INDEX workspaces_latest_run ON workspaces (organization_id, current_run_created_at ${direction}, id)`;

const indexWaiting = `
  INSERT INTO workspace_name_parts (rowid, name)
    SELECT n.number, n.name_key FROM workspace_name_ranges AS r CROSS JOIN workspace_names AS n
    WHERE r.organization_id = NEW.organization_id AND r.last - r.indexed >= ${waitingMax}
      AND n.number > ${first} + r.indexed AND n.number <= ${first} + r.last;
  UPDATE workspace_name_ranges SET indexed = last
    WHERE organization_id = NEW.organization_id AND last - indexed >= ${waitingMax};`;

const unindexOld = `
  INSERT INTO workspace_name_parts (workspace_name_parts, rowid, name)
    SELECT 'delete', n.number, n.name_key FROM workspace_names AS n CROSS JOIN workspace_name_ranges AS r
    WHERE n.workspace_id = OLD.id AND r.organization_id = OLD.organization_id AND n.number <= ${first} + r.indexed;`;

const sqlite = [
  latestRun("DESC"),
  // Row ids of `workspaces` are not stable: VACUUM changes them.
  `CREATE TABLE workspace_name_ranges (
    number INTEGER PRIMARY KEY,
    organization_id TEXT NOT NULL UNIQUE,
    last INTEGER NOT NULL DEFAULT 0,
    indexed INTEGER NOT NULL DEFAULT 0
  ) STRICT`,
  `CREATE TABLE workspace_names (
    number INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL UNIQUE,
    name_key TEXT NOT NULL
  ) STRICT`,
  `CREATE VIRTUAL TABLE workspace_name_parts USING fts5(
    name, content = '', columnsize = 0, tokenize = 'trigram case_sensitive 1')`,

  `INSERT INTO workspace_name_ranges (organization_id) SELECT id FROM organizations`,
  `INSERT INTO workspace_names (number, workspace_id, name_key)
    SELECT ${first} + row_number() OVER (PARTITION BY w.organization_id ORDER BY w.name_key), w.id, w.name_key
    FROM workspaces AS w INNER JOIN workspace_name_ranges AS r ON r.organization_id = w.organization_id`,
  `INSERT INTO workspace_name_parts (rowid, name) SELECT number, name_key FROM workspace_names ORDER BY number`,
  `UPDATE workspace_name_ranges SET last = made.count, indexed = made.count
    FROM (SELECT organization_id, count(*) AS count FROM workspaces GROUP BY organization_id) AS made
    WHERE made.organization_id = workspace_name_ranges.organization_id`,

  `CREATE TRIGGER organizations_name_range AFTER INSERT ON organizations BEGIN
    INSERT INTO workspace_name_ranges (organization_id) VALUES (NEW.id);
  END`,
  // After the foreign keys' deletions, because deleted workspaces look up their range.
  `CREATE TRIGGER organizations_no_name_range AFTER DELETE ON organizations BEGIN
    DELETE FROM workspace_name_ranges WHERE organization_id = OLD.id;
  END`,
  `CREATE TRIGGER workspaces_name AFTER INSERT ON workspaces BEGIN
    UPDATE workspace_name_ranges SET last = last + 1 WHERE organization_id = NEW.organization_id;
    INSERT INTO workspace_names (number, workspace_id, name_key)
      SELECT ${first} + r.last, NEW.id, NEW.name_key FROM workspace_name_ranges AS r
      WHERE r.organization_id = NEW.organization_id;
    ${indexWaiting}
  END`,
  // A renamed workspace is pending again, under a new number.
  `CREATE TRIGGER workspaces_other_name AFTER UPDATE OF name_key ON workspaces WHEN OLD.name_key <> NEW.name_key BEGIN
    ${unindexOld}
    UPDATE workspace_name_ranges SET last = last + 1 WHERE organization_id = NEW.organization_id;
    UPDATE workspace_names SET name_key = NEW.name_key, number = (
        SELECT ${first} + r.last FROM workspace_name_ranges AS r WHERE r.organization_id = NEW.organization_id)
      WHERE workspace_id = NEW.id;
    ${indexWaiting}
  END`,
  `CREATE TRIGGER workspaces_no_name AFTER DELETE ON workspaces BEGIN
    ${unindexOld}
    DELETE FROM workspace_names WHERE workspace_id = OLD.id;
  END`,
];

const postgres = [
  latestRun("DESC NULLS LAST"),
  // Each part includes the organization, so that a search reads no other's entries. Hashed to be short.
  `CREATE FUNCTION workspace_name_parts(organization_id text, name_key text) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE parts bigint[] := '{}';
    BEGIN
      FOR place IN 1 .. length(name_key) - 2 LOOP
        parts := parts || hashtextextended(organization_id || substr(name_key, place, 3), 0);
      END LOOP;
      RETURN parts;
    END $$`,
  `CREATE INDEX workspaces_name_parts ON workspaces USING gin (workspace_name_parts(organization_id, name_key))`,
];

export const largeOrganizations: Migration = {
  name: "0013-large-organizations",
  statements: [
    `CREATE INDEX workspaces_run_status ON workspaces (organization_id, current_run_status, name, id, project_id)
      WHERE current_run_status IS NOT NULL`,
    // Partial, so that only statements with the same condition use it.
    `CREATE INDEX audit_events_type ON audit_events (organization_id, subject_type, created_at, id)
      WHERE subject_type > ''`,
  ],
  only: { sqlite, postgres },
};
