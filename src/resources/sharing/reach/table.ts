/** Writes the whole reach of a subject as a table, with one batch in memory. */
import { reachPermissionNames } from "../../../access/reach.ts";
import type { GrantSource } from "../../../access/explain.ts";
import type { Tx } from "../../../database/database.ts";
import type { CsvCell, CsvTable } from "../../../kernel/csv.ts";
import { type ReachView, reachColumns } from "./definition.ts";
import { type ReachSubject, viewOf } from "./rules.ts";
import { type ReachSearch, findReached, type ReachPosition } from "./store.ts";

const batchSize = 1000;

/** For example `team-workspace tws-… (ops: write)`. */
function describeSource(source: GrantSource): string {
  switch (source.kind) {
    case "team-project":
    case "team-workspace":
      return `${source.kind} ${source.recordId} (${source.team.name}: ${source.level})`;
    case "organization-permission":
      return `${source.kind} ${source.permission} (${source.team.name})`;
    case "ownership":
      return `${source.kind} (${source.team.name})`;
    default:
      return source.kind;
  }
}

function rowOf(view: ReachView): CsvCell[] {
  return [
    view.kind,
    view.id,
    view.name,
    view.projectId,
    view.projectName,
    view.level,
    ...reachPermissionNames.map((name) => view.permissions[name] ?? null),
    view.grants.map(({ source }) => describeSource(source)).join("; "),
    view.hiddenSources,
  ];
}

/** Each batch continues after the last target, so that concurrent changes neither repeat targets nor break the order. */
async function* pieces(
  tx: Tx,
  subject: ReachSubject,
  search: ReachSearch,
  descending: boolean,
): AsyncGenerator<CsvCell[][]> {
  let after: ReachPosition | undefined;
  for (;;) {
    const found = await findReached(tx, search, { descending, limit: batchSize, after });
    yield found.map((target) => rowOf(viewOf(subject, target)));
    after = found.at(-1);
    if (found.length < batchSize) return;
  }
}

async function* nothing(): AsyncGenerator<CsvCell[][]> {}

export function tableOf(
  tx: Tx,
  subject: ReachSubject,
  search: ReachSearch,
  descending: boolean,
): Omit<CsvTable, "close"> {
  const rows = subject.refused === undefined ? pieces(tx, subject, search, descending) : nothing();
  return { name: `reach-${subject.shown.id}`, columns: reachColumns, pieces: rows };
}
