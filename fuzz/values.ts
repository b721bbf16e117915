/** Arbitraries for the values of a schema; ids are placeholders until the request is sent. */
import fc from "fast-check";
import { anyScalar } from "../test/support/invalid-input.ts";
import type { Description, Schema } from "./document.ts";

/** A placeholder for the id of an existing resource of this type; the number selects which one. */
export const placeholder = (type: string, choice: number): string => `\u0001${type}\u0001${choice}\u0001`;
// oxlint-disable-next-line no-control-regex -- Placeholders must not occur in other text.
export const placeholders = /\u0001([^\u0001]+)\u0001(\d+)\u0001/g;

export const anyId = (type: string): fc.Arbitrary<string> =>
  fc.nat(1_000_000).map((choice) => placeholder(type, choice));

const depthMax = 6;

export class Values {
  readonly #description: Description;
  readonly #known = new Map<Schema, fc.Arbitrary<unknown>>();

  constructor(description: Description) {
    this.#description = description;
  }

  of(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const made = this.#made(this.#description.resolved(schema), depth);
    if (depth === 0) this.#known.set(schema, made);
    return made;
  }

  #made(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    if (depth > depthMax) return fc.constant(null);
    if ("const" in schema) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return fc.oneof(...choices.map((choice) => this.of(choice, depth + 1)));
    const types = [schema.type ?? "any"].flat();
    return fc.oneof(...types.map((type) => this.#ofType(type, schema, depth)));
  }

  #ofType(type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
    switch (type) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return fc.array(this.of(schema.items ?? {}, depth + 1), {
          minLength: Math.min(schema.minItems ?? 0, 4),
          maxLength: Math.min(schema.maxItems ?? 3, 4),
        });
      case "string":
        return textOf(schema);
      case "integer":
      case "number":
        return numberOf(schema);
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      default:
        return anyScalar;
    }
  }

  #object(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const properties = Object.entries(schema.properties ?? {});
    const type = schema.properties?.["type"]?.const;
    const members = Object.fromEntries(
      properties.map(([name, member]) => [
        name,
        name === "id" && typeof type === "string" ? anyId(type) : this.of(member, depth + 1),
      ]),
    );
    if (properties.length === 0) return fc.dictionary(fc.string({ maxLength: 8 }), anyScalar, { maxKeys: 3 });
    return fc.record(members, {
      requiredKeys: [...(schema.required ?? [])].filter((name) => name in members) as never[],
    });
  }
}

function textOf({ pattern, format, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  const length = { minLength: Math.min(minLength, 300), maxLength: Math.max(minLength, Math.min(maxLength, 300)) };
  const plain = fc.oneof(
    fc.string({ ...length, unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789-_") }),
    fc.string(length),
  );
  const matching = pattern === undefined ? undefined : matchingText(pattern, length.maxLength);
  return matching === undefined ? plain : fc.oneof({ weight: 4, arbitrary: matching }, { weight: 1, arbitrary: plain });
}

/** Not every pattern can generate values. */
function matchingText(pattern: string, maxLength: number): fc.Arbitrary<string> | undefined {
  try {
    return fc.stringMatching(new RegExp(pattern, "u"), { maxLength });
  } catch {
    return undefined;
  }
}

function numberOf({ minimum, maximum }: Schema): fc.Arbitrary<number> {
  const within = fc.integer({ min: Math.max(minimum ?? 0, -1e9), max: Math.min(maximum ?? 10_000, 1e9) });
  const edges = [minimum, maximum, 0, -1, 2 ** 31, 2 ** 53, 1.5].filter((edge) => edge !== undefined);
  return fc.oneof({ weight: 5, arbitrary: within }, { weight: 1, arbitrary: fc.constantFrom(...edges) });
}
