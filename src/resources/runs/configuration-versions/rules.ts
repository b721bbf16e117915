/** Pure rules for configuration versions: new rows, allowed status changes, and the choice of the current version. */
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import { type Actor, actorId, actorName, tokenIdOf } from "../../../access/actor.ts";
import type { ConfigurationVersionTable } from "../../../database/schema/runs.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { AppError, conflict } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { type BackingDataAction, backingDataTransitionsFor } from "../../shared/backing-data.ts";
import { contentBytesMax, type ContentLimit, type ContentOwner } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import { type ConfigurationStatus, configurationVersions, type VcsSource } from "./definition.ts";
import type { Ingress } from "./ingress.ts";

export type ConfigurationWriteGrant = Granted<object, "can-queue-run" | "can-upload" | "job"> | Capability<"job">;

export type ConfigurationContentKind = "archive" | "readme";

/** `ArchiveCheck` enforces a lower limit. */
export const archiveLimit: ContentLimit = { bytes: contentBytesMax, thing: "A configuration" };

export const ofConfigurationVersion = (id: string): ContentOwner => ({ column: "configurationVersionId", id });

export type NewConfiguration = Partial<CreateAttributes<typeof configurationVersions>>;

export interface ConfigurationCommit {
  readonly source: VcsSource;
  readonly ingress: Ingress;
}

interface NewConfigurationFacts {
  readonly workspace: { readonly id: string; readonly organizationId: string };
  readonly position: number;
  readonly createdAt: string;
}

/** Long enough to retry an interrupted upload. */
const uploadLifetimeMs = 60 * 60 * 1000;

export function newConfigurationVersion(
  attributes: NewConfiguration,
  { workspace, position, createdAt }: NewConfigurationFacts,
  { actor, source, integration }: Pick<Context, "actor" | "source" | "integration">,
  commit?: ConfigurationCommit,
): ConfigurationVersionTable {
  const status: ConfigurationStatus = commit === undefined ? "pending" : "fetching";
  const stamps = { "queued-at": createdAt, ...(commit !== undefined && { "fetching-at": createdAt }) };
  return {
    ...createdColumns(configurationVersions, attributes),
    id: newId("configuration-versions"),
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    position,
    source: commit?.source ?? (integration === undefined ? (source ?? "tfe-api") : "terraform"),
    status,
    statusTimestamps: JSON.stringify(stamps),
    error: null,
    errorMessage: null,
    uploadExpiresAt: new Date(Date.parse(createdAt) + uploadLifetimeMs).toISOString(),
    size: 0,
    hasReadme: 0,
    ingressId: commit === undefined ? null : newId("ingress-attributes"),
    ingress: commit === undefined ? null : JSON.stringify(commit.ingress),
    ...(commit === undefined ? creatorColumns(actor) : noCreator),
    createdAt,
    approvedAt: null,
    version: 1,
  };
}

const noCreator = { createdByKind: null, createdById: null, createdByName: null, createdByTokenId: null };

const creatorColumns = (actor: Actor) => ({
  createdByKind: actor.kind,
  createdById: actorId(actor),
  createdByName: actorName(actor),
  createdByTokenId: tokenIdOf(actor),
});

export function columnsForConfigurationStatus(
  { statusTimestamps }: Pick<ConfigurationVersionTable, "statusTimestamps">,
  status: ConfigurationStatus,
  stamps: Readonly<Record<string, string>>,
): Pick<ConfigurationVersionTable, "status" | "statusTimestamps"> {
  const before = JSON.parse(statusTimestamps) as object;
  return { status, statusTimestamps: JSON.stringify({ ...before, ...stamps }) };
}

export function creatorOf(version: ConfigurationVersionTable): Actor | undefined {
  const { createdByKind: kind, createdById: id, createdByName: name, createdByTokenId, organizationId } = version;
  if (id === null || name === null) return undefined;
  const tokenId = createdByTokenId ?? "";
  return kind === "team"
    ? { kind, teamId: id, name, organizationId, tokenId }
    : { kind: "user", userId: id, name, siteAdmin: false, tokenId, tokenAgeMs: 0 };
}

type ConfigurationFlags = Pick<ConfigurationVersionTable, "speculative" | "provisional">;

export const becomesCurrent = ({ speculative, provisional }: ConfigurationFlags): boolean =>
  speculative === 0 && provisional === 0;

interface ConfigurationUse extends Pick<ConfigurationVersionTable, "id" | "status" | "ingress"> {
  readonly currentConfigurationVersionId: string | null;
}

export function archiveObstacle(version: ConfigurationUse, hasRunInProgress: boolean): AppError | undefined {
  const refused = (why: string) =>
    conflict(`Status transition not allowed: configuration could not be archived because ${why}.`);
  if (version.ingress !== null)
    return refused("it comes from version control, and such configurations are archived automatically");
  if (version.status !== "uploaded") return refused(`it is ${version.status} and not uploaded`);
  // Clients match "because it is current".
  if (version.id === version.currentConfigurationVersionId)
    return refused("it is current. Upload a newer configuration first");
  if (hasRunInProgress) return refused("a run with it is in progress. Wait for the run to end, or cancel it");
  return undefined;
}

export const backingDataTransitions = backingDataTransitionsFor("uploaded");

export function backingDataObstacle(
  action: BackingDataAction,
  version: ConfigurationUse,
  hasRunInProgress: boolean,
): AppError | undefined {
  const { from, to } = backingDataTransitions[action];
  const refused = (why: string) => new AppError("bad-request", `Status transition not allowed: ${why}.`);
  if (version.status !== from)
    return refused(`the configuration version is ${version.status}, and only one that is ${from} can become ${to}`);
  if (action !== "soft-delete") return undefined;
  if (version.id === version.currentConfigurationVersionId)
    return refused("the configuration version is the workspace's current one. Upload a newer one first");
  if (hasRunInProgress)
    return refused("a run with the configuration version is in progress. Wait for the run to end, or cancel it");
  return undefined;
}
