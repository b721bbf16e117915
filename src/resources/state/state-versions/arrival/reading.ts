/**
 * What is read out of a state on its way: its outputs and its resources. Those of a small one are written together with it; the
 * resources of a large one by a job, in short transactions, and its document says so meanwhile (`resources-processed`).
 */
import type {
  StateResourceTable,
  StateVersionOutputTable,
  StateVersionTable,
} from "../../../../database/schema/state.ts";
import type { Vault } from "../../../../database/vault.ts";
import { type StateFile, StateFileReader } from "../../../../statefile/state-file.ts";
import type { StateInstance } from "../../../../statefile/state-resources.ts";
import { newResources } from "../../resources/rules.ts";
import { namedIds, newOutputs } from "../../state-version-outputs/rules.ts";
import { type ReadColumns, unread } from "../rules.ts";

/** The job that reads large states. */
export const processingJob = "state-processing";

/** A state up to this size, with at most so many of each, is read within its request. */
const inlineBytesMax = 1024 * 1024;
const inlineRowsMax = 1000;

export interface ReadState {
  readonly file: StateFile;
  /** Undefined where they are too many to be written with the state: they are left to the job. */
  readonly instances: readonly StateInstance[] | undefined;
}

/** Reads a state that passes, in bounded memory: instances are kept only while there are few. */
export class PassingState {
  readonly #reader = new StateFileReader();
  #instances: StateInstance[] | undefined = [];
  #size = 0;

  /** Raises `invalid` as soon as it shows that this is no state. */
  write(piece: Uint8Array): void {
    this.#reader.write(piece);
    this.#size += piece.length;
    this.#gather();
  }

  /** Raises `invalid` where what has passed is no state. */
  end(): ReadState {
    const file = this.#reader.end();
    this.#gather();
    // There is nothing to be read in it, whatever its size.
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

/** What the head of a state tells, whether or not its outputs and resources are written yet. */
export function headOf(file: StateFile): Omit<ReadColumns, "resourcesProcessed" | "resourceCount" | "outputIds"> {
  return {
    encrypted: Number(file.encrypted),
    format: file.format,
    engineVersion: file.engineVersion,
    modules: JSON.stringify(file.modules),
    providers: JSON.stringify(file.providers),
    resources: JSON.stringify(file.resources),
  };
}

/** What a state adds to the register together with its version. */
export interface ReadRows {
  readonly columns: ReadColumns;
  readonly outputs: readonly StateVersionOutputTable[];
  readonly resources: readonly StateResourceTable[];
}

/** The outputs of a large state too, unless they are very many: an engine asks for them as soon as it has written it. */
export function rowsOf(
  vault: Vault,
  version: Pick<StateVersionTable, "id" | "organizationId" | "createdAt">,
  { file, instances }: ReadState,
): ReadRows {
  const outputs = file.outputs.length <= inlineRowsMax ? newOutputs(vault, version, file.outputs) : [];
  const columns = { ...unread, ...headOf(file), outputIds: namedIds(outputs) };
  if (instances === undefined) return { columns, outputs, resources: [] };
  const resources = newResources(version, instances);
  return { columns: { ...columns, resourcesProcessed: 1, resourceCount: resources.length }, outputs, resources };
}
