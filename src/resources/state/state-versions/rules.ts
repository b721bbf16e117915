/** Pure rules of state versions: what a new one is, what may follow what, and what may become of a content. */
import { type Actor, actorId, actorName, tokenIdOf } from "../../../access/actor.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { type AppError, conflict, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { type BackingDataMove, backingDataMovesOf } from "../../shared/backing-data.ts";
import { stateVersions } from "./definition.ts";

/** The columns that a state's content fills. */
export type ReadColumns = Pick<
  StateVersionTable,
  | "encrypted"
  | "format"
  | "engineVersion"
  | "modules"
  | "providers"
  | "resources"
  | "resourcesProcessed"
  | "resourceCount"
  | "outputIds"
>;

/** Until its content was read. */
export const unread: ReadColumns = {
  encrypted: 0,
  format: null,
  engineVersion: null,
  modules: "{}",
  providers: "{}",
  resources: "[]",
  resourcesProcessed: 0,
  resourceCount: 0,
  outputIds: "",
};

interface NewVersionFacts extends Pick<StateVersionTable, "id" | "position" | "createdAt"> {
  readonly workspace: { readonly id: string; readonly organizationId: string };
  /** What the content says of itself, where it came with the request. */
  readonly ownLineage: string | null | undefined;
}

/** Long enough for an engine that was interrupted to send once more. */
export const uploadLifetimeMs = 60 * 60 * 1000;

/** A version whose content is awaited. */
export function newStateVersion(
  attributes: CreateAttributes<typeof stateVersions>,
  { id, position, createdAt, workspace, ownLineage }: NewVersionFacts,
  actor: Actor,
): StateVersionTable {
  return {
    ...createdColumns(stateVersions, attributes),
    ...unread,
    id,
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    position,
    createdAt,
    md5: attributes.md5.toLowerCase(),
    // Empty where it is not known and whatever comes is taken.
    lineage: attributes.lineage || ownLineage || (attributes.force ? "" : null),
    status: "pending",
    intermediate: 1,
    size: 0,
    superseded: 0,
    uploadExpiresAt: new Date(Date.parse(createdAt) + uploadLifetimeMs).toISOString(),
    hasJson: 0,
    runId: actor.kind === "run" ? actor.runId : null,
    createdByKind: actor.kind,
    createdById: actorId(actor),
    createdByName: actorName(actor),
    createdByTokenId: tokenIdOf(actor),
    version: 1,
  };
}

/** A run writes in its own name alone. Who else sends one is not believed, and not refused: older engines send what they were told. */
export function runFaults(actor: Actor, runId: string | null | undefined): Fault[] {
  if (actor.kind !== "run" || runId === undefined || runId === actor.runId) return [];
  return [relationshipFault("run", `Run must be ${actor.runId}: a run writes state in its own name alone`)];
}

/** The maker of a version, as the caller that a token of theirs would be; for what is done later in their name. */
export function makerOf(version: StateVersionTable): Actor {
  const { createdByKind: kind, createdById: id, createdByName: name, createdByTokenId, organizationId } = version;
  const tokenId = createdByTokenId ?? "";
  if (kind === "run")
    return { kind, runId: id, phaseId: tokenId, workspaceId: version.workspaceId, organizationId, name, tokenId };
  return kind === "team"
    ? { kind, teamId: id, name, organizationId, tokenId }
    : { kind: "user", userId: id, name, siteAdmin: false, tokenId, tokenAgeMs: 0 };
}

/** The latest version of a workspace that was not discarded. */
export type LatestVersion = Pick<StateVersionTable, "id" | "serial" | "md5" | "lineage" | "status">;

type Following = Pick<StateVersionTable, "serial" | "md5" | "lineage">;

/** The CLI shows this to whoever pushed with `-force`, which it keeps to itself with a `cloud` block. */
const byForce =
  "and push it without '-force', or send 'force': true to the API: with a 'cloud' block the CLI never sends it.";

/** Why a version can't follow the latest, if it can't. The same state once more is no mistake: somebody tried again. */
export function successionObstacle(latest: LatestVersion | undefined, next: Following): AppError | undefined {
  if (latest === undefined) return undefined;
  const remedy = `Pull the latest state and start from it. To replace it, raise 'serial' in yours above ${latest.serial}, ${byForce}`;
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

export function lineageObstacle(latest: LatestVersion | undefined, lineage: string | null): AppError | undefined {
  if (!latest?.lineage || !lineage || latest.lineage === lineage) return undefined;
  return conflict(
    `The state's lineage ${lineage} is not the workspace's, ${latest.lineage}: it is the state of something else. Check which workspace you write to. To replace its state, set 'lineage' in yours to the workspace's and 'serial' above ${latest.serial}, ${byForce}`,
  );
}

export const backingDataMoves = backingDataMovesOf("finalized");

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
