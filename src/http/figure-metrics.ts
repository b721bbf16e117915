/** What a job has counted of the whole register: the same on every server, and as old as it says. */
import { Gauge, type Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import { type Figures, readFigures, tokenKinds } from "../resources/shared/figures.ts";
import { soonOrNone } from "./health.ts";

const kinds = ["state", "json", "archive"];

/** Gives the function that takes a new look: one statement, whatever the size of the register. */
export function watchFigures(registry: Registry, database: Database): () => Promise<void> {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const counted = gauge("cadastre_figures_timestamp_seconds", "When the figures of the whole register were counted.");
  const size = gauge("cadastre_database_size_bytes", "What the database takes of its disk.");
  const organizations = gauge("cadastre_organizations", "Organizations in the register.");
  const users = gauge("cadastre_users", "Users in the register.");
  const workspaces = gauge("cadastre_workspaces", "Workspaces in the register.");
  const bytes = gauge("cadastre_stored_bytes", "States and other contents, in bytes before compression.", ["kind"]);
  const contents = gauge("cadastre_stored_contents", "How many of them there are.", ["kind"]);
  const expiring = gauge("cadastre_tokens_expiring", "Tokens that end within so many days.", ["kind", "within_days"]);
  return async () => {
    const figures = await soonOrNone(readFigures(database.reader));
    // Unknown is not none: a gauge without a value is left out.
    for (const metric of [counted, size, organizations, users, workspaces]) metric.remove();
    for (const metric of [bytes, contents, expiring]) metric.reset();
    if (figures === undefined) return;
    counted.set(Date.parse(figures.at) / 1000);
    size.set(figures.databaseBytes);
    organizations.set(figures.organizations);
    users.set(figures.users);
    workspaces.set(figures.workspaces);
    for (const kind of new Set([...kinds, ...Object.keys(figures.contents)])) {
      bytes.set({ kind }, figures.contents[kind]?.bytes ?? 0);
      contents.set({ kind }, figures.contents[kind]?.count ?? 0);
    }
    tellExpiring(expiring, figures);
  };
}

function tellExpiring(expiring: Gauge, { tokensExpiring }: Figures): void {
  for (const kind of tokenKinds)
    for (const days of ["1", "7", "30"] as const)
      expiring.set({ kind, within_days: days }, tokensExpiring[kind]?.[days] ?? 0);
}
