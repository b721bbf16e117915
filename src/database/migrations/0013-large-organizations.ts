/**
 * What searches and filters in large organizations need. Above all an index of the parts of workspaces' names, three characters long: a search in an organization of hundreds of thousands looks
 * at those that may match instead of at all. `database/name-index.ts` asks it. Kept by the engines themselves, and made anew from
 * the names when a backup is restored.
 */
import type { Migration } from "./migration.ts";

/**
 * So many names of an organization wait for the embedded database to index them together: one by one, they would make a creation
 * dearer by half. A search looks through those that wait one by one.
 */
const waitingMax = 256;

/** An organization's numbers begin at its own number times 2^32, so that its part of the index is a range. */
const first = "(r.number << 32)";

/**
 * The latest run first, those without one last, and ties by id: the order of `sort=-current-run.created-at`. The index of the other
 * direction has the ties the wrong way round, and on PostgreSQL those without a run, too.
 */
const latestRun = (direction: string) =>
  `CREATE INDEX workspaces_latest_run ON workspaces (organization_id, current_run_created_at ${direction}, id)`;

/** Puts the names that wait into the index, when there are enough of them. */
const indexWaiting = `
  INSERT INTO workspace_name_parts (rowid, name)
    SELECT n.number, n.name_key FROM workspace_name_ranges AS r CROSS JOIN workspace_names AS n
    WHERE r.organization_id = NEW.organization_id AND r.last - r.indexed >= ${waitingMax}
      AND n.number > ${first} + r.indexed AND n.number <= ${first} + r.last;
  UPDATE workspace_name_ranges SET indexed = last
    WHERE organization_id = NEW.organization_id AND last - indexed >= ${waitingMax};`;

/** Takes a name out of the index, if it is in there: it must be told what it was. */
const unindexOld = `
  INSERT INTO workspace_name_parts (workspace_name_parts, rowid, name)
    SELECT 'delete', n.number, n.name_key FROM workspace_names AS n CROSS JOIN workspace_name_ranges AS r
    WHERE n.workspace_id = OLD.id AND r.organization_id = OLD.organization_id AND n.number <= ${first} + r.indexed;`;

const sqlite = [
  // Nothing is less than null here, so that it comes last without a word.
  latestRun("DESC"),
  // Rows of `workspaces` have no number that lasts: VACUUM gives them others.
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
  // After what goes with an organization by its foreign keys: its workspaces look their range up.
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
  // Under another name it waits again, under a number of its own.
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
  // The organization is in each part, so that no search reads what is another's. Numbers, because they are short.
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
    // Those without a run, as all are at first, are in no index.
    `CREATE INDEX workspaces_run_status ON workspaces (organization_id, current_run_status, name, id, project_id)
      WHERE current_run_status IS NOT NULL`,
    // Only a statement that says so too is answered by it: no planner takes it for the trail without a filter.
    `CREATE INDEX audit_events_type ON audit_events (organization_id, subject_type, created_at, id)
      WHERE subject_type > ''`,
  ],
  only: { sqlite, postgres },
};
