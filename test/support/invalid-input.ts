/** Arbitrary input for random tests: values of any kind, and bodies with one wrong value. */
import fc from "fast-check";

export const anyScalar = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(
    "",
    "admin",
    "owners",
    "custom",
    "🍄",
    "\u0000",
    "\ud800",
    "9999d",
    "-1",
    "1e999",
    "__proto__",
    "' OR 1=1 --",
    "%",
    "a".repeat(300),
  ),
);

const names = fc.constantFrom(
  "data",
  "type",
  "attributes",
  "relationships",
  "id",
  "name",
  "email",
  "teams",
  "description",
  "organization-access",
);

export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, anyScalar, tie("array"), tie("object")),
  array: fc.array(tie("value"), { maxLength: 4 }),
  object: fc.dictionary(fc.oneof(names, fc.string({ maxLength: 6 })), tie("value"), { maxKeys: 5 }),
})).value;

/** An accepted body with one value replaced, so that it passes the first checks. */
export function mutated(example: unknown): fc.Arbitrary<unknown> {
  const paths = pathsIn(example);
  return fc.tuple(fc.constantFrom(...paths), anyJson).map(([path, value]) => replaceAt(example, path, value));
}

type JsonPath = readonly (string | number)[];

function pathsIn(value: unknown, at: JsonPath = []): JsonPath[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([name, member]) => pathsIn(member, [...at, name]))];
}

function replaceAt(value: unknown, [first, ...rest]: JsonPath, replacement: unknown): unknown {
  if (first === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((member, index) =>
      String(index) === String(first) ? replaceAt(member, rest, replacement) : member,
    );
  return { ...(value as object), [first]: replaceAt((value as Record<string, unknown>)[first], rest, replacement) };
}
