/** Maps a state's outputs to rows. */
import type { StateVersionOutputTable, StateVersionTable } from "../../../database/schema/state.ts";
import type { Vault } from "../../../database/vault.ts";
import { newId } from "../../../kernel/ids.ts";
import type { StateOutput } from "../../../statefile/state-outputs.ts";
import { encryptOutputValue } from "./values.ts";

export function newOutputs(
  vault: Vault,
  { id: stateVersionId, organizationId }: Pick<StateVersionTable, "id" | "organizationId">,
  outputs: readonly StateOutput[],
): StateVersionOutputTable[] {
  return outputs.map((output) => {
    const id = newId("state-version-outputs");
    return {
      id,
      organizationId,
      stateVersionId,
      name: output.name,
      sensitive: Number(output.sensitive),
      type: shortType(output.type),
      detailedType: output.type,
      value: encryptOutputValue(vault, id, output.value ?? "null"),
    };
  });
}

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

/** `["list", "string"]` is an `array`. */
function shortType(json: string): string {
  const type = JSON.parse(json) as unknown;
  return shortTypes.get(Array.isArray(type) ? type[0] : type) ?? "dynamic";
}

/** Documents name at most this many; the list of outputs has all. */
const listedOutputsMax = 1000;

/** Rows of versions and workspaces store the ids joined by commas. */
export const joinOutputIds = (outputs: readonly Pick<StateVersionOutputTable, "id">[]): string =>
  outputs
    .slice(0, listedOutputsMax)
    .map((output) => output.id)
    .join(",");
