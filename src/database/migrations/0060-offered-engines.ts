/** The engines of the last agent that registered with a pool: known also while no agent runs. */
import type { Migration } from "./migration.ts";

const columns = ["offered_engines TEXT", "offered_fetching INTEGER", "offered_ms INTEGER"];

export const offeredEngines: Migration = {
  name: "0060-offered-engines",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: ["agent_pools", "site_agent_pools"].flatMap((table) =>
    columns.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column}`),
  ),
};
