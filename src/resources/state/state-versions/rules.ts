/** Pure rules of state versions: what may follow what. */
import { type AppError, attributeFault, conflict, type Fault } from "../../../kernel/errors.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import { md5Of } from "./contents/contents.ts";

/** What a request shows by itself. */
export function requestFaults({
  state,
  jsonState,
  md5,
}: {
  readonly state?: Uint8Array;
  readonly jsonState?: Uint8Array | null;
  readonly md5?: string;
}): Fault[] {
  const faults: Fault[] = [];
  if (state !== undefined && md5 !== undefined && md5Of(state) !== md5.toLowerCase())
    faults.push(attributeFault("md5", "Md5 is not the MD5 of the state that was sent; send it again"));
  if (state === undefined && jsonState)
    faults.push(attributeFault("json-state", "Json state can't be sent without the state itself"));
  return faults;
}

/** The latest version of a workspace that was not discarded. */
export type LatestVersion = Pick<StateVersionTable, "id" | "serial" | "md5" | "lineage" | "status">;

export interface NewVersion {
  readonly serial: number;
  readonly md5: string;
  readonly lineage: string | null;
}

/** Why a version can't follow the latest, if it can't. The same state once more is no mistake: somebody tried again. */
export function successionObstacle(latest: LatestVersion | undefined, next: NewVersion): AppError | undefined {
  if (latest === undefined) return undefined;
  const remedy = "Pull the latest state and start from it, or set 'force' if you mean to replace it.";
  const lineage = lineageObstacle(latest, next.lineage);
  if (lineage !== undefined) return lineage;
  if (next.serial < latest.serial)
    return conflict(
      `The state's serial ${next.serial} is older than the latest one, ${latest.serial}: somebody wrote state since. ${remedy}`,
    );
  if (next.serial === latest.serial && next.md5 !== latest.md5)
    return conflict(`There is another state with the serial ${next.serial} already. ${remedy}`);
  return undefined;
}

export function lineageObstacle(
  latest: Pick<LatestVersion, "lineage"> | undefined,
  lineage: string | null,
): AppError | undefined {
  if (!latest?.lineage || !lineage || latest.lineage === lineage) return undefined;
  return conflict(
    `The state's lineage ${lineage} is not the workspace's, ${latest.lineage}: it is the state of something else. Check which workspace you write to, or set 'force' if you mean to replace its state.`,
  );
}

type Status = StateVersionTable["status"];

/** What each action on a version's content leads from and to. */
export const backingDataMoves = {
  "soft-delete": { from: "finalized", to: "backing_data_soft_deleted" },
  restore: { from: "backing_data_soft_deleted", to: "finalized" },
  "permanently-delete": { from: "backing_data_soft_deleted", to: "backing_data_permanently_deleted" },
} as const satisfies Record<string, { from: Status; to: Status }>;
export type BackingDataMove = keyof typeof backingDataMoves;

/** Why the content of a version can't be moved, if it can't. */
export function backingDataObstacle(
  move: BackingDataMove,
  version: Pick<StateVersionTable, "id" | "status" | "intermediate"> & {
    readonly currentStateVersionId: string | null;
  },
): AppError | undefined {
  const { from, to } = backingDataMoves[move];
  if (version.status !== from)
    return conflict(
      `Status transition not allowed: the state version is ${version.status}, and only one that is ${from} can become ${to}.`,
    );
  if (version.id === version.currentStateVersionId || version.intermediate === 1)
    return conflict(
      "The content of the state in force, or of one that is about to be, can't be deleted. Write a newer state first.",
    );
  return undefined;
}
