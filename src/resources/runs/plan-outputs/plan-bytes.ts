/** Turns a plan's bytes into a redacted plan or a summary. Slow for large plans: call it only in the worker thread. */
import { JsonCapture, JsonError, type JsonReader, JsonScanner } from "../../../statefile/json-scanner.ts";
import { ExactJson, TooManyValues } from "./exact-json.ts";
import { PlanMask, type SecretVariable, TooManySecrets } from "./masking.ts";
import { redactPlan, type SchemaUse, schemaUsesOf } from "./redaction.ts";

export interface PlanBytes {
  readonly plan: Uint8Array;
  readonly schemas: Uint8Array | undefined;
  readonly secrets: readonly SecretVariable[];
}

/** The message ends the sentence "This plan can't be rendered: …". */
export class PlanFault extends Error {}

/** Enough for a plan of 32 MiB with a value every 16 bytes. */
const valuesMax = 2_000_000;
const redactedLengthMax = 96 * 1024 * 1024;

export function redactPlanBytes({ plan, schemas, secrets }: PlanBytes): Uint8Array {
  return withPlanFaults(() => {
    const json = new ExactJson(valuesMax);
    const mask = new PlanMask(secrets, json);
    const rendered = readMembers(plan, membersOf(renderedMembers), json);
    const usedSchemas = schemas && readMembers(schemas, schemaMembers(schemaUsesOf(rendered)), json);
    const text = json.stringify(redactPlan(rendered, usedSchemas, { json, mask }));
    if (text.length > redactedLengthMax) throw new PlanFault("the result would be too large");
    // In its own buffer, which can be transferred to the main thread.
    return new TextEncoder().encode(text);
  });
}

export const readPlanMembers = (plan: Uint8Array, names: readonly string[]): unknown =>
  withPlanFaults(() => readMembers(plan, membersOf(names), new ExactJson(valuesMax)));

const renderedMembers = [
  "format_version",
  "resource_changes",
  "resource_drift",
  "deferred_changes",
  "action_invocations",
  "output_changes",
  "relevant_attributes",
];

function withPlanFaults<T>(task: () => T): T {
  try {
    return task();
  } catch (error) {
    if (error instanceof TooManyValues) throw new PlanFault(`it has more than ${valuesMax} values`);
    if (error instanceof TooManySecrets) throw new PlanFault("the run's sensitive variables are too long to be masked");
    if (error instanceof JsonError || error instanceof SyntaxError)
      throw new PlanFault("the engine's output is not valid JSON");
    // The string would be longer than JavaScript allows.
    if (error instanceof RangeError) throw new PlanFault("the result would be too large");
    throw error;
  }
}

type MemberSelection = true | ReadonlyMap<string, MemberSelection>;

const membersOf = (names: readonly string[]): MemberSelection => new Map(names.map((name) => [name, true]));

function schemaMembers(uses: readonly SchemaUse[]): MemberSelection {
  const providers = new Map<string, Map<string, Map<string, MemberSelection>>>();
  for (const { provider, kind, type } of uses) {
    const kinds = providers.get(provider) ?? new Map<string, Map<string, MemberSelection>>();
    const types = kinds.get(kind) ?? new Map<string, MemberSelection>();
    providers.set(provider, kinds.set(kind, types.set(type, true)));
  }
  return new Map<string, MemberSelection>([
    ["format_version", true],
    ["provider_schemas", providers],
  ]);
}

function readMembers(bytes: Uint8Array, selection: MemberSelection, json: ExactJson): unknown {
  const found: Record<string, unknown> = Object.create(null);
  const scanner = new JsonScanner(readerOf(selection, bytes.length, json, (value) => Object.assign(found, { value })));
  scanner.write(bytes);
  scanner.end();
  return found["value"];
}

function readerOf(
  selection: MemberSelection,
  bytesMax: number,
  json: ExactJson,
  onValue: (value: unknown) => void,
): JsonReader {
  if (selection === true) return new ValueCapture(bytesMax, (text) => onValue(json.parse(text)));
  let members: Record<string, unknown> = Object.create(null);
  return {
    begin: () => {
      members = Object.create(null) as Record<string, unknown>;
    },
    member: (name) => {
      const below = selection.get(name);
      return below && readerOf(below, bytesMax, json, (value) => (members[name] = value));
    },
    end: () => onValue(members),
  };
}

class ValueCapture extends JsonCapture {
  readonly #onText: (text: string) => void;

  constructor(bytesMax: number, onText: (text: string) => void) {
    super(bytesMax);
    this.#onText = onText;
  }

  end(): void {
    this.#onText(this.text ?? "null");
  }
}

export interface PlanSummary {
  readonly drifted: number;
  readonly checks: Readonly<Record<"pass" | "fail" | "error" | "unknown", number>>;
}

export function summaryOf(plan: unknown): PlanSummary {
  const drifted = listIn(plan, "resource_drift").filter((each) => {
    const actions = isObject(each) ? listIn(each["change"], "actions") : [];
    return actions.some((action) => action !== "no-op" && action !== "read");
  }).length;
  const checks = listIn(plan, "checks").flatMap((check) => {
    const instances = listIn(check, "instances");
    return instances.length > 0 ? instances : [check];
  });
  const countOf = (status: string) => checks.filter((check) => isObject(check) && check["status"] === status).length;
  return {
    drifted,
    checks: { pass: countOf("pass"), fail: countOf("fail"), error: countOf("error"), unknown: countOf("unknown") },
  };
}

type SummaryObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is SummaryObject => typeof value === "object" && value !== null;
const listIn = (value: unknown, name: string): readonly unknown[] => {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
};
