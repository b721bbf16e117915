/**
 * From the bytes of a plan and of its providers' schemas to what is drawn from them. Only the parts that are needed become values; all else
 * is only read over. Takes as long as the bytes are many; for the worker thread alone.
 */
import { Capture, JsonError, type JsonReader, JsonScanner } from "../../../statefile/json-scanner.ts";
import { ExactJson, TooManyValues } from "./exact-json.ts";
import { PlanMask, type SecretVariable, TooManySecrets } from "./masking.ts";
import { redactPlan, type SchemaUse, schemaUsesOf } from "./redaction.ts";

export interface PlanBytes {
  readonly plan: Uint8Array;
  readonly schemas: Uint8Array | undefined;
  /** The values of the run's sensitive variables. */
  readonly secrets: readonly SecretVariable[];
}

/** Why something can't be drawn, as the end of a sentence. */
export class PlanFault extends Error {}

/** A plan of 32 MiB has about one value in 25 bytes. */
const valuesMax = 2_000_000;
/** What both may have together: a change without anything in it is drawn as a change. */
const drawnLengthMax = 96 * 1024 * 1024;

/** Raises PlanFault. */
export function drawPlan({ plan, schemas, secrets }: PlanBytes): Uint8Array {
  return explained(() => {
    const json = new ExactJson(valuesMax);
    const mask = new PlanMask(secrets, json);
    const known = read(plan, membersOf(drawnMembers), json);
    const provided = schemas && read(schemas, schemaMembers(schemaUsesOf(known)), json);
    const text = json.stringify(redactPlan(known, provided, { json, mask }));
    if (text.length > drawnLengthMax) throw new PlanFault("too much would have to be drawn");
    // In memory of its own, which can be handed over.
    return new TextEncoder().encode(text);
  });
}

/** Of a whole plan, some of its members. Raises PlanFault. */
export const readPlanMembers = (plan: Uint8Array, names: readonly string[]): unknown =>
  explained(() => read(plan, membersOf(names), new ExactJson(valuesMax)));

const drawnMembers = [
  "format_version",
  "resource_changes",
  "resource_drift",
  "deferred_changes",
  "action_invocations",
  "output_changes",
  "relevant_attributes",
];

function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TooManyValues) throw new PlanFault(`it has more than ${valuesMax} values`);
    if (error instanceof TooManySecrets) throw new PlanFault("the run's sensitive variables are too long to be masked");
    if (error instanceof JsonError || error instanceof SyntaxError)
      throw new PlanFault("what the engine wrote is not JSON as we know it");
    // A text that would be longer than any can be.
    if (error instanceof RangeError) throw new PlanFault("too much would have to be drawn");
    throw error;
  }
}

// --- reading

/** Which members of an object are wanted, and of those that are objects, which of theirs; true: all of it. */
type Wanted = true | ReadonlyMap<string, Wanted>;

const membersOf = (names: readonly string[]): Wanted => new Map(names.map((name) => [name, true]));

/** The schemas of what is drawn. */
function schemaMembers(uses: readonly SchemaUse[]): Wanted {
  const providers = new Map<string, Map<string, Map<string, Wanted>>>();
  for (const { provider, kind, type } of uses) {
    const kinds = providers.get(provider) ?? new Map<string, Map<string, Wanted>>();
    const types = kinds.get(kind) ?? new Map<string, Wanted>();
    providers.set(provider, kinds.set(kind, types.set(type, true)));
  }
  return new Map<string, Wanted>([
    ["format_version", true],
    ["provider_schemas", providers],
  ]);
}

/** Raises JsonError and TooManyValues. */
function read(bytes: Uint8Array, wanted: Wanted, json: ExactJson): unknown {
  const found: Record<string, unknown> = Object.create(null);
  const scanner = new JsonScanner(readerOf(wanted, bytes.length, json, (value) => Object.assign(found, { value })));
  scanner.write(bytes);
  scanner.end();
  return found["value"];
}

function readerOf(wanted: Wanted, bytesMax: number, json: ExactJson, give: (value: unknown) => void): JsonReader {
  if (wanted === true) return new Whole(bytesMax, (text) => give(json.parse(text)));
  let members: Record<string, unknown> = Object.create(null);
  return {
    begin: () => {
      members = Object.create(null) as Record<string, unknown>;
    },
    member: (name) => {
      const below = wanted.get(name);
      return below && readerOf(below, bytesMax, json, (value) => (members[name] = value));
    },
    end: () => give(members),
  };
}

/** One value, given on as it was written. */
class Whole extends Capture {
  readonly #give: (text: string) => void;

  constructor(bytesMax: number, give: (text: string) => void) {
    super(bytesMax);
    this.#give = give;
  }

  end(): void {
    this.#give(this.text ?? "null");
  }
}

/** How many resources have drifted, and how many checks have which status. */
export interface PlanSummary {
  readonly drifted: number;
  readonly checks: Readonly<Record<"pass" | "fail" | "error" | "unknown", number>>;
}

/** Of a plan, as far as it has `resource_drift` and `checks`. */
export function summaryOf(plan: unknown): PlanSummary {
  const drifted = listIn(plan, "resource_drift").filter((each) => {
    const actions = isObject(each) ? listIn(each["change"], "actions") : [];
    return actions.some((action) => action !== "no-op" && action !== "read");
  }).length;
  const checks = listIn(plan, "checks").flatMap((check) => {
    const instances = listIn(check, "instances");
    return instances.length > 0 ? instances : [check];
  });
  const counted = (status: string) => checks.filter((check) => isObject(check) && check["status"] === status).length;
  return {
    drifted,
    checks: { pass: counted("pass"), fail: counted("fail"), error: counted("error"), unknown: counted("unknown") },
  };
}

type Loose = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Loose => typeof value === "object" && value !== null;
const listIn = (value: unknown, name: string): readonly unknown[] => {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
};
