/** Moving a workspace changes access to it, so it raises the organization's access version. */
import type { Migration } from "./migration.ts";

const moves = "AFTER UPDATE OF project_id ON workspaces";
const isMove = "OLD.project_id <> NEW.project_id";

export const movesOfWorkspaces: Migration = {
  name: "0021-moves-of-workspaces",
  statements: [],
  // Not inserts and deletes, unlike in 0012: they change nobody's access.
  only: {
    sqlite: [
      `CREATE TRIGGER workspaces_access_move ${moves} WHEN ${isMove} BEGIN
        UPDATE access_versions SET version = version + 1 WHERE organization_id = NEW.organization_id; END`,
    ],
    postgres: [
      `CREATE CONSTRAINT TRIGGER workspaces_access_move ${moves} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (${isMove}) EXECUTE FUNCTION raise_access_version()`,
    ],
  },
};
