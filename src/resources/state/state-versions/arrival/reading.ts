/**
 * What is read out of a state: its outputs and its resources. A small state is read with the request that brings it; the resources
 * of a large one by a job, in short transactions, and its document says so meanwhile (`resources-processed`).
 */
import { sql } from "kysely";
import type { Tx } from "../../../../database/database.ts";
import type {
  StateResourceTable,
  StateVersionOutputTable,
  StateVersionTable,
} from "../../../../database/schema/state.ts";
import type { Vault } from "../../../../database/vault.ts";
import { newId } from "../../../../kernel/ids.ts";
import { sealedValue } from "../../state-version-outputs/values.ts";
import type { StateFile, StateInstance, StateOutput } from "../../../../statefile/state-file.ts";

/** A state up to this size, with at most so many of each, is read within its request. */
export const inlineBytesMax = 1024 * 1024;
export const inlineRowsMax = 1000;

export interface ReadState {
  readonly file: StateFile;
  /** Undefined where they are too many to be written with the request. */
  readonly instances: readonly StateInstance[] | undefined;
}

export const isInline = (size: number, file: StateFile): boolean =>
  size <= inlineBytesMax && file.instanceCount <= inlineRowsMax && file.outputs.length <= inlineRowsMax;

type Owner = Pick<StateVersionTable, "id" | "organizationId" | "createdAt">;

/** The columns of a version that a state's content fills. */
export type FileColumns = Pick<
  StateVersionTable,
  | "format"
  | "engineVersion"
  | "modules"
  | "providers"
  | "resources"
  | "resourcesProcessed"
  | "resourceCount"
  | "outputIds"
>;

export const unread: FileColumns = {
  format: null,
  engineVersion: null,
  modules: "{}",
  providers: "{}",
  resources: "[]",
  resourcesProcessed: 0,
  resourceCount: 0,
  outputIds: "",
};

/** What the head of a state tells, whether or not its outputs and resources are written yet. */
export function columnsOf(
  file: StateFile,
): Pick<FileColumns, "format" | "engineVersion" | "modules" | "providers" | "resources"> {
  return {
    format: file.format,
    engineVersion: file.engineVersion,
    modules: JSON.stringify(file.modules),
    providers: JSON.stringify(file.providers),
    resources: JSON.stringify(file.resources),
  };
}

/** Names and addresses that a database can't keep as text belong to no configuration that an engine would take. */
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

export function outputRows(
  vault: Vault,
  { id, organizationId }: Owner,
  outputs: readonly StateOutput[],
): StateVersionOutputTable[] {
  return outputs
    .filter(({ name }) => isStorable(name))
    .map((output) => {
      const outputId = newId("state-version-outputs");
      return {
        id: outputId,
        organizationId,
        stateVersionId: id,
        name: output.name,
        sensitive: Number(output.sensitive),
        type: shortType(output.type),
        detailedType: output.type,
        value: sealedValue(vault, outputId, output.value ?? "null"),
      };
    });
}

/** Documents name so many of a state's outputs; the list has them all. */
const namedMax = 1000;

export const namedIds = (outputs: readonly Pick<StateVersionOutputTable, "id">[]): string =>
  outputs
    .slice(0, namedMax)
    .map((output) => output.id)
    .join(",");

const shortTypes: ReadonlyMap<unknown, string> = new Map([
  ["string", "string"],
  ["number", "number"],
  ["bool", "boolean"],
  ["list", "array"],
  ["set", "array"],
  ["tuple", "array"],
  ["map", "object"],
  ["object", "object"],
]);

/** The kind of an output's type, as documents name it: `["list", "string"]` is an `array`. */
function shortType(json: string): string {
  const type = JSON.parse(json) as unknown;
  return shortTypes.get(Array.isArray(type) ? type[0] : type) ?? "dynamic";
}

/** An index of PostgreSQL holds no longer ones. */
const addressMax = 600;

export function resourceRows(
  { id, organizationId, createdAt }: Owner,
  instances: readonly StateInstance[],
): StateResourceTable[] {
  // A state that names an address twice is broken; the first one stands.
  const byAddress = new Map<string, StateInstance>();
  for (const instance of instances) {
    const { address, provider } = instance;
    if (!byAddress.has(address) && address.length <= addressMax && isStorable(address + provider))
      byAddress.set(address, instance);
  }
  return [...byAddress.values()].map((instance) => ({
    ...instance,
    id: newId("resources"),
    organizationId,
    stateVersionId: id,
    modifiedByStateVersionId: id,
    createdAt,
    updatedAt: createdAt,
  }));
}

/** Many rows need many statements, each of a size that an engine takes. */
const rowsPerStatement = 500;

export async function insertOutputs(tx: Tx, rows: readonly StateVersionOutputTable[]): Promise<void> {
  for (let start = 0; start < rows.length; start += rowsPerStatement)
    await tx.db
      .insertInto("stateVersionOutputs")
      .values(rows.slice(start, start + rowsPerStatement))
      .execute();
}

/** Those that are there already, from a try that was broken off, stay as they are. */
export async function insertResources(
  tx: Tx,
  rows: readonly StateResourceTable[],
  predecessorId: string | undefined,
): Promise<void> {
  for (let start = 0; start < rows.length; start += rowsPerStatement)
    await tx.db
      .insertInto("stateResources")
      .values(rows.slice(start, start + rowsPerStatement))
      .onConflict((conflict) => conflict.columns(["stateVersionId", "address"]).doNothing())
      .execute();
  await carryOver(tx, rows, predecessorId);
}

/** A resource that the version before had too is the same one: its id, its age and, unless it was changed, who changed it last. */
async function carryOver(
  tx: Tx,
  rows: readonly StateResourceTable[],
  predecessorId: string | undefined,
): Promise<void> {
  const stateVersionId = rows[0]?.stateVersionId;
  if (stateVersionId === undefined || predecessorId === undefined) return;
  const addresses = rows.map((row) => row.address);
  const unchanged = (kept: string, otherwise: string) =>
    sql<string>`case when before.fingerprint = state_resources.fingerprint then ${sql.ref(`before.${kept}`)} else ${sql.ref(`state_resources.${otherwise}`)} end`;
  await sql`
    update state_resources set id = before.id, created_at = before.created_at,
      updated_at = ${unchanged("updated_at", "updated_at")},
      modified_by_state_version_id = ${unchanged("modified_by_state_version_id", "modified_by_state_version_id")}
    from state_resources as before
    where state_resources.state_version_id = ${stateVersionId} and before.state_version_id = ${predecessorId}
      and before.address = state_resources.address
      and ${tx.dialect.isOneOf(sql.ref("state_resources.address"), addresses)}`.execute(tx.db);
}

/** What a state that is read within its request adds to the register. */
export interface ReadRows {
  readonly columns: FileColumns;
  readonly outputs: readonly StateVersionOutputTable[];
  readonly resources: readonly StateResourceTable[];
}

/** The outputs of a large state too, unless they are very many: an engine asks for them as soon as it has written it. */
export function rowsOf(vault: Vault, version: Owner, { file, instances }: ReadState): ReadRows {
  const outputs = file.outputs.length <= inlineRowsMax ? outputRows(vault, version, file.outputs) : [];
  const columns = { ...unread, ...columnsOf(file), outputIds: namedIds(outputs) };
  if (instances === undefined) return { columns, outputs, resources: [] };
  const resources = resourceRows(version, instances);
  return { columns: { ...columns, resourcesProcessed: 1, resourceCount: resources.length }, outputs, resources };
}

/** Once the version is there. */
export async function insertRead(
  tx: Tx,
  { outputs, resources }: ReadRows,
  predecessorId: string | undefined,
): Promise<void> {
  await insertOutputs(tx, outputs);
  await insertResources(tx, resources, predecessorId);
}
