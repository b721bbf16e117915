/** The whole of somebody's reach as a table, piece by piece: never more than one piece is in memory, however much there is. */
import { reachPermissionNames } from "../../../access/reach.ts";
import type { Source } from "../../../access/explain.ts";
import type { Tx } from "../../../database/database.ts";
import type { Cell, Table } from "../../../kernel/csv.ts";
import { type ReachView, reachColumns } from "./definition.ts";
import { type ReachSubject, viewOf } from "./rules.ts";
import { type Asked, findReached, type Position } from "./store.ts";

const pieceSize = 1000;

/** A grant in a few words: `team-workspace tws-… (ops: write)`. */
function told(source: Source): string {
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

/** What a project does not know of a workspace's permissions, and the other way round, stays empty. */
function rowOf(view: ReachView): Cell[] {
  return [
    view.kind,
    view.id,
    view.name,
    view.projectId,
    view.projectName,
    view.level,
    ...reachPermissionNames.map((name) => view.permissions[name] ?? null),
    view.grants.map(({ source }) => told(source)).join("; "),
    view.hiddenSources,
  ];
}

/** Each piece goes on behind the last thing of the one before, so that what changes meanwhile is neither told twice nor breaks it. */
async function* pieces(tx: Tx, subject: ReachSubject, asked: Asked, descending: boolean): AsyncGenerator<Cell[][]> {
  let after: Position | undefined;
  for (;;) {
    const found = await findReached(tx, asked, { descending, limit: pieceSize, after });
    yield found.map((thing) => rowOf(viewOf(subject, thing)));
    after = found.at(-1);
    if (found.length < pieceSize) return;
  }
}

async function* nothing(): AsyncGenerator<Cell[][]> {}

export function tableOf(tx: Tx, subject: ReachSubject, asked: Asked, descending: boolean): Omit<Table, "close"> {
  const rows = subject.refused === undefined ? pieces(tx, subject, asked, descending) : nothing();
  return { name: `reach-${subject.shown.id}`, columns: reachColumns, pieces: rows };
}
