/** Builds the view of a plan from the redacted JSON plan. Pure. */

export type PlanAction = "create" | "update" | "replace" | "delete" | "read" | "import" | "move" | "forget";

export interface PlannedChange {
  readonly actions?: readonly string[];
  readonly before?: unknown;
  readonly after?: unknown;
  readonly after_unknown?: unknown;
  readonly before_sensitive?: unknown;
  readonly after_sensitive?: unknown;
  readonly replace_paths?: readonly (readonly (string | number)[])[];
  readonly importing?: { readonly id?: string } | null;
}

export interface ResourceChange {
  readonly address: string;
  readonly previous_address?: string;
  readonly module_address?: string;
  readonly mode?: string;
  readonly type?: string;
  readonly deposed?: string;
  readonly action_reason?: string;
  readonly change: PlannedChange;
}

export interface ActionInvocation {
  readonly address: string;
  readonly config_values?: unknown;
  readonly config_sensitive?: unknown;
  readonly config_unknown?: unknown;
  readonly lifecycle_action_trigger?: {
    readonly triggering_resource_address?: string;
    readonly action_trigger_event?: string;
  };
}

export interface Plan {
  readonly resource_changes?: readonly ResourceChange[];
  readonly resource_drift?: readonly ResourceChange[];
  readonly deferred_changes?: readonly { readonly reason?: string; readonly resource_change?: ResourceChange }[];
  readonly output_changes?: Readonly<Record<string, PlannedChange>>;
  readonly action_invocations?: readonly ActionInvocation[];
}

/** Such as "before create of aws_instance.web". */
export function triggerOf({ lifecycle_action_trigger: trigger }: ActionInvocation): string {
  if (trigger?.triggering_resource_address === undefined) return "";
  const event = (trigger.action_trigger_event ?? "").replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return `${event === "" ? "with" : `${event} of`} ${trigger.triggering_resource_address}`;
}

export const configurationOf = (action: ActionInvocation): PlannedChange => ({
  before: null,
  after: action.config_values,
  after_unknown: action.config_unknown,
  after_sensitive: action.config_sensitive,
});

export interface DisplayedChange extends ResourceChange {
  readonly planAction: PlanAction;
  readonly label: string;
}

export interface Module {
  readonly address: string;
  readonly resources: readonly DisplayedChange[];
  readonly counts: Readonly<Partial<Record<PlanAction, number>>>;
}

export function planActionOf({
  change,
  previous_address: moved,
}: Pick<ResourceChange, "change" | "previous_address">): PlanAction | undefined {
  const actions = change.actions ?? [];
  if (actions.includes("create") && actions.includes("delete")) return "replace";
  for (const action of ["create", "update", "delete", "read", "forget"] as const)
    if (actions.includes(action)) return action;
  if (change.importing) return "import";
  return moved === undefined ? undefined : "move";
}

export const displayedChangesOf = (changes: readonly ResourceChange[] = []): DisplayedChange[] =>
  changes.flatMap((resource) => {
    const planAction = planActionOf(resource);
    const { address, module_address: module = "" } = resource;
    const label = module !== "" && address.startsWith(`${module}.`) ? address.slice(module.length + 1) : address;
    return planAction === undefined ? [] : [{ ...resource, planAction, label }];
  });

export function byModule(resources: readonly DisplayedChange[]): Module[] {
  const modules = Map.groupBy(resources, ({ module_address: module = "" }) => module);
  return [...modules]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([address, resources]) => ({ address, resources, counts: countsOf(resources) }));
}

export function countsOf(resources: readonly DisplayedChange[]): Partial<Record<PlanAction, number>> {
  const counts: Partial<Record<PlanAction, number>> = {};
  for (const { planAction } of resources) counts[planAction] = (counts[planAction] ?? 0) + 1;
  return counts;
}

export interface PlanDifference {
  readonly path: string;
  readonly kind: "added" | "removed" | "changed" | "same";
  readonly before: DifferenceSide;
  readonly after: DifferenceSide;
  readonly forcesReplacement: boolean;
}

export type DifferenceSide = { readonly value: unknown } | { readonly word: "sensitive" | "unknown" } | undefined;

interface DifferenceSides {
  readonly before: unknown;
  readonly after: unknown;
  readonly unknown: unknown;
  readonly hidden: readonly unknown[];
}

/** Every path at which either side has a value, down to single values. */
export function differencesOf(change: PlannedChange): PlanDifference[] {
  const forced = new Set((change.replace_paths ?? []).map((path) => pathOf(path)));
  const found: PlanDifference[] = [];
  const isForced = (path: string) =>
    [...forced].some((each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`));
  walk(
    "",
    {
      before: change.before,
      after: change.after,
      unknown: change.after_unknown,
      hidden: [change.before_sensitive, change.after_sensitive],
    },
    (path, before, after, isSame) => {
      const kind = isSame ? "same" : before === undefined ? "added" : after === undefined ? "removed" : "changed";
      found.push({
        path,
        kind,
        before,
        after,
        forcesReplacement: kind !== "same" && forced.size > 0 && isForced(path),
      });
    },
  );
  return found;
}

type DifferenceListener = (path: string, before: DifferenceSide, after: DifferenceSide, isSame: boolean) => void;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isNothing = (value: unknown) => value === null || value === undefined;
const at = (value: unknown, step: string | number): unknown =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, step)
    ? (value as Record<string | number, unknown>)[step]
    : undefined;

function walk(path: string, sides: DifferenceSides, onDifference: DifferenceListener): void {
  const { unknown, hidden } = sides;
  const before = unpacked(sides.before, sides.after);
  const after = unpacked(sides.after, sides.before);
  const places = pathsIn(before, after, unknown);
  if (unknown === true || hidden.includes(true) || places === undefined)
    return leaf(path, { ...sides, before, after }, onDifference);
  for (const step of places)
    walk(
      typeof step === "number" ? `${path}[${step}]` : path === "" ? step : `${path}.${step}`,
      {
        before: at(before, step),
        after: at(after, step),
        unknown: at(unknown, step),
        hidden: hidden.map((each) => at(each, step)),
      },
      onDifference,
    );
}

function leaf(
  path: string,
  { before, after, unknown, hidden }: DifferenceSides,
  onDifference: DifferenceListener,
): void {
  const sideOf = (value: unknown): DifferenceSide =>
    isNothing(value) ? undefined : hidden.includes(true) ? { word: "sensitive" } : { value };
  const later: DifferenceSide = unknown === true ? { word: "unknown" } : sideOf(after);
  if (sideOf(before) === undefined && later === undefined) return;
  onDifference(path, sideOf(before), later, unknown !== true && JSON.stringify(before) === JSON.stringify(after));
}

function pathsIn(before: unknown, after: unknown, unknown: unknown): (string | number)[] | undefined {
  const some = [before, after].filter((value) => !isNothing(value));
  if (some.length === 0 && (isObject(unknown) || Array.isArray(unknown))) some.push(unknown);
  if (some.length === 0) return undefined;
  if (some.every(Array.isArray)) {
    const length = Math.max(...[...some, unknown].map((list) => (Array.isArray(list) ? list.length : 0)));
    return length === 0 ? undefined : Array.from({ length }, (_, index) => index);
  }
  if (!some.every(isObject)) return undefined;
  const names = [...some, unknown].filter(isObject).flatMap((each) => Object.keys(each));
  return names.length === 0 ? undefined : [...new Set(names)].toSorted();
}

/** Text that contains JSON, such as a policy, is compared as JSON. */
function unpacked(value: unknown, other: unknown): unknown {
  const parsed = parsedJson(value);
  if (parsed === undefined) return value;
  return isNothing(other) || parsedJson(other) !== undefined ? parsed : value;
}

function parsedJson(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) || Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const pathOf = (places: readonly (string | number)[]): string =>
  places.reduce<string>(
    (path, step) => (typeof step === "number" ? `${path}[${step}]` : path === "" ? step : `${path}.${step}`),
    "",
  );
