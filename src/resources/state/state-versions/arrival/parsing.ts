/** Parses a state while it is received. A job writes the resources of a large one; until then `resources-processed` is false. */
import type {
  StateResourceTable,
  StateVersionOutputTable,
  StateVersionTable,
} from "../../../../database/schema/state.ts";
import type { Vault } from "../../../../database/vault.ts";
import { type StateFile, StateFileReader } from "../../../../statefile/state-file.ts";
import type { StateInstance } from "../../../../statefile/state-resources.ts";
import { newResources } from "../../resources/rules.ts";
import { joinOutputIds, newOutputs } from "../../state-version-outputs/rules.ts";
import { type ParsedStateColumns, unparsedColumns } from "../rules.ts";

export const processingJob = "state-processing";

/** States within these limits are processed in their request. */
const inlineBytesMax = 1024 * 1024;
const inlineRowsMax = 1000;

export interface ParsedState {
  readonly file: StateFile;
  /** Undefined if a job must process them. */
  readonly instances: readonly StateInstance[] | undefined;
}

/** Keeps instances only while they are few, to bound memory. */
export class StateParser {
  readonly #reader = new StateFileReader();
  #instances: StateInstance[] | undefined = [];
  #size = 0;

  /** Throws `invalid` as soon as the content can't be a state. */
  write(piece: Uint8Array): void {
    this.#reader.write(piece);
    this.#size += piece.length;
    this.#gather();
  }

  end(): ParsedState {
    const file = this.#reader.end();
    this.#gather();
    // A job can't read an encrypted state.
    if (file.encrypted) return { file, instances: [] };
    return { file, instances: file.outputs.length > inlineRowsMax ? undefined : this.#instances };
  }

  #gather(): void {
    if (this.#instances === undefined) return;
    this.#instances = this.#instances.concat(this.#reader.takeInstances());
    if (this.#size <= inlineBytesMax && this.#instances.length <= inlineRowsMax) return;
    this.#instances = undefined;
    this.#reader.stopListing();
  }
}

export function headColumns(
  file: StateFile,
): Omit<ParsedStateColumns, "resourcesProcessed" | "resourceCount" | "outputIds"> {
  return {
    encrypted: Number(file.encrypted),
    format: file.format,
    engineVersion: file.engineVersion,
    modules: JSON.stringify(file.modules),
    providers: JSON.stringify(file.providers),
    resources: JSON.stringify(file.resources),
  };
}

export interface ParsedStateRows {
  readonly columns: ParsedStateColumns;
  readonly outputs: readonly StateVersionOutputTable[];
  readonly resources: readonly StateResourceTable[];
}

/** Includes the outputs of a large state unless they are very many: engines read them right after writing the state. */
export function rowsFromState(
  vault: Vault,
  version: Pick<StateVersionTable, "id" | "organizationId" | "createdAt">,
  { file, instances }: ParsedState,
): ParsedStateRows {
  const outputs = file.outputs.length <= inlineRowsMax ? newOutputs(vault, version, file.outputs) : [];
  const columns = { ...unparsedColumns, ...headColumns(file), outputIds: joinOutputIds(outputs) };
  if (instances === undefined) return { columns, outputs, resources: [] };
  const resources = newResources(version, instances);
  return { columns: { ...columns, resourcesProcessed: 1, resourceCount: resources.length }, outputs, resources };
}
