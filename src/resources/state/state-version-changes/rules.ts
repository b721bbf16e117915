/** Computes the differences between two states. */
import type { StateOutput } from "../../../statefile/state-outputs.ts";
import type { StateInstance } from "../../../statefile/state-resources.ts";
import { attributeChangesOf, type ComparisonBudget } from "./attributes.ts";
import type { StateChange } from "./definition.ts";

export interface StateInventory {
  readonly instances: ReadonlyMap<string, StateInstance>;
  readonly outputs: readonly StateOutput[];
}

export const emptyInventory: StateInventory = { instances: new Map(), outputs: [] };

export function differencesOf(before: StateInventory, after: StateInventory): StateChange[] {
  return [...resourceChanges(before, after), ...outputChanges(before, after)];
}

const byAddress = (one: StateChange, other: StateChange): number =>
  one.address < other.address ? -1 : Number(one.address > other.address);

function resourceChanges(before: StateInventory, after: StateInventory): StateChange[] {
  const changes: StateChange[] = [];
  for (const [address, instance] of after.instances) {
    const old = before.instances.get(address);
    if (old?.fingerprint !== instance.fingerprint)
      changes.push(resourceChange(instance, old === undefined ? "added" : "changed"));
  }
  for (const [address, instance] of before.instances)
    if (!after.instances.has(address)) changes.push(resourceChange(instance, "removed"));
  return changes.sort(byAddress);
}

function resourceChange(instance: StateInstance, change: StateChange["change"]): StateChange {
  const { address, type: providerType, module, provider } = instance;
  const noValues = { attributeChanges: null, attributeChangeCount: null, sensitive: null, before: null, after: null };
  return { id: `resource/${address}`, kind: "resource", change, address, providerType, module, provider, ...noValues };
}

function outputChanges(before: StateInventory, after: StateInventory): StateChange[] {
  const changes: StateChange[] = [];
  const old = new Map(before.outputs.map((output) => [output.name, output]));
  for (const output of after.outputs) {
    const previous = old.get(output.name);
    old.delete(output.name);
    if (previous === undefined || !isSame(previous, output)) changes.push(outputChange(previous, output));
  }
  for (const previous of old.values()) changes.push(outputChange(previous, undefined));
  return changes.sort(byAddress);
}

function isSame(one: StateOutput, other: StateOutput): boolean {
  return one.value === other.value && one.type === other.type && one.sensitive === other.sensitive;
}

/** An output that is sensitive in either state hides both values. */
function outputChange(before: StateOutput | undefined, after: StateOutput | undefined): StateChange {
  const sensitive = before?.sensitive === true || after?.sensitive === true;
  const address = (after ?? before)?.name ?? "";
  const shown = (output: StateOutput | undefined) => (sensitive ? null : (output?.value ?? null));
  return {
    id: `output/${address}`,
    kind: "output",
    change: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    address,
    providerType: null,
    module: null,
    provider: null,
    attributeChanges: null,
    attributeChangeCount: null,
    sensitive,
    before: shown(before),
    after: shown(after),
  };
}

type InstanceTexts = ReadonlyMap<string, string>;

export const changedFingerprints = (changes: readonly StateChange[], { instances }: StateInventory): Set<string> =>
  new Set(
    changes.flatMap(({ kind, change, address }) =>
      kind === "resource" && change === "changed" ? (instances.get(address)?.fingerprint ?? []) : [],
    ),
  );

/** `texts` is keyed by fingerprint. */
export function withAttributes(
  change: StateChange,
  before: StateInventory & { readonly texts: InstanceTexts },
  after: StateInventory & { readonly texts: InstanceTexts },
  budget: ComparisonBudget,
): StateChange {
  if (change.kind !== "resource" || change.change !== "changed") return change;
  const [old, current] = [before, after].map(({ instances, texts }) =>
    texts.get(instances.get(change.address)?.fingerprint ?? ""),
  );
  if (old === undefined || current === undefined) return change;
  const { listed, count } = attributeChangesOf(change.providerType ?? "", old, current, budget);
  return { ...change, attributeChanges: listed, attributeChangeCount: count };
}
