/** Pure rules of state versions: creation, succession by serial and lineage, and the transitions of the backing data. */
import { type Actor, actorId, actorName, tokenIdOf } from "../../../access/actor.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { type AppError, conflict, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { type BackingDataAction, backingDataTransitionsFor } from "../../shared/backing-data.ts";
import { stateVersions } from "./definition.ts";

export type ParsedStateColumns = Pick<
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

export const unparsedColumns: ParsedStateColumns = {
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

interface NewVersionInput extends Pick<StateVersionTable, "id" | "position" | "createdAt"> {
  readonly workspace: { readonly id: string; readonly organizationId: string };
  /** The lineage in the content, if the content is known already. */
  readonly contentLineage: string | null | undefined;
}

/** Long enough for an interrupted engine to upload again. */
export const uploadLifetimeMs = 60 * 60 * 1000;

export function newStateVersion(
  attributes: CreateAttributes<typeof stateVersions>,
  { id, position, createdAt, workspace, contentLineage }: NewVersionInput,
  actor: Actor,
): StateVersionTable {
  return {
    ...createdColumns(stateVersions, attributes),
    ...unparsedColumns,
    id,
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    position,
    createdAt,
    md5: attributes.md5.toLowerCase(),
    // Empty accepts any lineage.
    lineage: attributes.lineage || contentLineage || (attributes.force ? "" : null),
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

/** Ignores the run from other callers, because older engines send it. */
export function runFaults(actor: Actor, runId: string | null | undefined): Fault[] {
  if (actor.kind !== "run" || runId === undefined || runId === actor.runId) return [];
  return [relationshipFault("run", `Run must be ${actor.runId}; a run can only write state in its own name`)];
}

export function creatorOf(version: StateVersionTable): Actor {
  const { createdByKind: kind, createdById: id, createdByName: name, createdByTokenId, organizationId } = version;
  const tokenId = createdByTokenId ?? "";
  if (kind === "run")
    return { kind, runId: id, phaseId: tokenId, workspaceId: version.workspaceId, organizationId, name, tokenId };
  return kind === "team"
    ? { kind, teamId: id, name, organizationId, tokenId }
    : { kind: "user", userId: id, name, siteAdmin: false, tokenId, tokenAgeMs: 0 };
}

export type LatestVersion = Pick<StateVersionTable, "id" | "serial" | "md5" | "lineage" | "status">;

type NextStateVersion = Pick<StateVersionTable, "serial" | "md5" | "lineage">;

const forceHint =
  "and push it without '-force', or send 'force': true to the API. With a 'cloud' block the CLI never sends 'force'.";

/** Undefined if the version can follow. Accepts the same state again as a retry. */
export function successionObstacle(latest: LatestVersion | undefined, next: NextStateVersion): AppError | undefined {
  if (latest === undefined) return undefined;
  const remedy = `Pull the latest state and start from it. To replace it, set 'serial' in your state above ${latest.serial}, ${forceHint}`;
  const lineage = lineageObstacle(latest, next.lineage);
  if (lineage !== undefined) return lineage;
  if (next.serial < latest.serial)
    return conflict(
      `The state's serial ${next.serial} is older than the latest serial ${latest.serial}: a newer state was written. ${remedy}`,
    );
  if (next.serial === latest.serial && next.md5 !== latest.md5)
    return conflict(`A different state with the serial ${next.serial} already exists. ${remedy}`);
  return undefined;
}

export function lineageObstacle(latest: LatestVersion | undefined, lineage: string | null): AppError | undefined {
  if (!latest?.lineage || !lineage || latest.lineage === lineage) return undefined;
  return conflict(
    `The state's lineage ${lineage} does not match the workspace's lineage ${latest.lineage}, so it belongs to another workspace. Check that you are writing to the right workspace. To replace its state, set 'lineage' in your state to the workspace's and 'serial' above ${latest.serial}, ${forceHint}`,
  );
}

export const backingDataTransitions = backingDataTransitionsFor("finalized");

export function backingDataObstacle(
  action: BackingDataAction,
  version: Pick<StateVersionTable, "id" | "status" | "intermediate"> & {
    readonly currentStateVersionId: string | null;
  },
): AppError | undefined {
  const { from, to } = backingDataTransitions[action];
  if (version.status !== from)
    return conflict(
      `Status transition not allowed: the state version is ${version.status}, and only one that is ${from} can become ${to}.`,
    );
  if (version.id === version.currentStateVersionId || version.intermediate === 1)
    return conflict(
      "The content of the current state version, or of one that becomes current with the unlock, can't be deleted. Write a newer state first.",
    );
  return undefined;
}
