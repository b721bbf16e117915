/**
 * Writes `schema.gen.ts`: the types of every resource and operation, from the OpenAPI document that the tests keep, and what the audit
 * trail can tell of, from theirs. `npm run typecheck` and the console's build run it, so a page that asks for what the API does not have
 * does not compile.
 */
import { readFileSync, writeFileSync } from "node:fs";

type Schema = Record<string, any>;

const quoted = (text: unknown) => JSON.stringify(text);
const primitives: Record<string, string> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

function typeOf(schema: Schema | undefined): string {
  if (schema === undefined) return "unknown";
  if (typeof schema["$ref"] === "string") return referenceOf(schema["$ref"]);
  if ("const" in schema) return quoted(schema["const"]);
  if (schema["enum"]) return schema["enum"].map(quoted).join(" | ");
  const several = schema["anyOf"] ?? schema["oneOf"];
  if (several) return [...new Set(several.map(typeOf))].join(" | ");
  if (schema["allOf"]) return schema["allOf"].map((part: Schema) => `(${typeOf(part)})`).join(" & ");
  if (Array.isArray(schema["type"]))
    return schema["type"].map((type: string) => typeOf({ ...schema, type })).join(" | ");
  if (schema["type"] === "array") return `readonly (${typeOf(schema["items"])})[]`;
  if (schema["type"] === "object") return objectOf(schema);
  return primitives[schema["type"]] ?? "unknown";
}

function referenceOf(reference: string): string {
  const name = reference.split("/").at(-1);
  if (name === "pagination") return "Pagination";
  return `Thing<${quoted(name)}>`;
}

function objectOf(schema: Schema, isWhole = false): string {
  const properties = Object.entries<Schema>(schema["properties"] ?? {});
  if (properties.length === 0) {
    const values = schema["additionalProperties"];
    return `Readonly<Record<string, ${typeof values === "object" ? typeOf(values) : "any"}>>`;
  }
  const required = new Set<string>(schema["required"] ?? []);
  const members = properties.map(([name, value]) => {
    const said = value["description"] ? `/** ${value["description"].replaceAll("*/", "*\\/")} */ ` : "";
    return `${said}readonly ${quoted(name)}${isWhole || required.has(name) ? "" : "?"}: ${typeOf(value)};`;
  });
  return `{ ${members.join("\n ")} }`;
}

/** In an answer every attribute is there; a relationship may be left out. */
function resourceOf(schema: Schema): string {
  const { attributes, relationships } = schema["properties"] ?? {};
  return `{ attributes: ${attributes ? objectOf(attributes, true) : "Record<string, never>"}; relationships: ${
    relationships ? objectOf(relationships) : "Record<string, never>"
  } }`;
}

const contentOf = (holder: Schema | undefined): Schema | undefined =>
  Object.values<Schema>(holder?.["content"] ?? {})[0]?.["schema"];

function parametersOf(operation: Schema, place: string): string {
  const some = (operation["parameters"] ?? []).filter((parameter: Schema) => parameter["in"] === place);
  if (some.length === 0) return "undefined";
  const members = some.map(
    ({ name, required, schema }: Schema) =>
      `readonly ${quoted(name)}${required ? "" : "?"}: ${typeOf(schema)} | undefined;`,
  );
  return `{ ${members.join(" ")} }`;
}

function operationOf(operation: Schema): string {
  const answers = Object.entries<Schema>(operation["responses"]).filter(([status]) => status.startsWith("2"));
  const answer = [
    ...new Set(
      answers.map(([, response]) => contentOf(response)).map((schema) => (schema ? typeOf(schema) : "undefined")),
    ),
  ];
  const body = contentOf(operation["requestBody"]);
  return `{ path: ${parametersOf(operation, "path")}; query: ${parametersOf(operation, "query")}; body: ${
    body ? typeOf(body) : "undefined"
  }; answer: ${answer.join(" | ") || "undefined"} }`;
}

const golden = (name: string) => readFileSync(new URL(`../../test/goldens/${name}`, import.meta.url), "utf8");
const actions = [...new Set(golden("audit-events.txt").match(/\b[a-z-]+\.[a-z-]+/g))].sort();
const document = JSON.parse(golden("openapi.json"));
const resources = Object.entries<Schema>(document.components.schemas)
  .filter(([, schema]) => schema["properties"]?.["type"])
  .map(([name, schema]) => `  ${quoted(name)}: ${resourceOf(schema)};`);
/** What is elsewhere, such as the endpoints of OAuth, is for others to call. */
const base = "/api/v2";
const paths = Object.entries<Schema>(document.paths).filter(([path]) => path.startsWith(`${base}/`));
const operations = paths.flatMap(([path, methods]) =>
  Object.entries<Schema>(methods)
    .filter(([method]) => method !== "parameters")
    .map(
      ([method, operation]) =>
        `  ${quoted(`${method.toUpperCase()} ${path.slice(base.length)}`)}: ${operationOf(operation)};`,
    ),
);
writeFileSync(
  new URL("schema.gen.ts", import.meta.url),
  `/** Made by generate.ts from the OpenAPI document. */
export interface Pagination { readonly "current-page": number; readonly "page-size": number; readonly "prev-page": number | null; readonly "next-page": number | null; readonly "total-pages": number; readonly "total-count": number }
export interface Resources {
${resources.join("\n")}
}
export type Thing<T extends string> = T extends keyof Resources
  ? { readonly id: string; readonly type: T; readonly attributes: Resources[T]["attributes"]; readonly relationships: Resources[T]["relationships"]; readonly links?: Readonly<Record<string, string>> }
  : any;
export interface Operations {
${operations.join("\n")}
}
export const auditActions: readonly string[] = [${actions.map(quoted).join(", ")}];
`,
);
