/**
 * Validates our responses with HCP Terraform's OpenAPI document, which comes with the Go client: calls each operation that the document has, in
 * the same way as the contract tests.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { openSite } from "../fuzz/site.ts";
import type { Answer, Api, Caller } from "../test/support/api.ts";
import { prepareRequest } from "../test/support/scenes.ts";
import { reuseTenant, makeTenant, type Route, routes, type Tenant } from "../test/support/tenant.ts";
import { type DocumentException, documentExceptions, absentMembers } from "./openapi-exceptions.ts";
import { say } from "./script.ts";
import { fetchGeneratedClient, generatedClient } from "./v2.ts";

type Json = any;

interface DocumentedOperation {
  /** Schemas of bodies by status; null where the status has none. */
  readonly schemas: ReadonlyMap<string, Json>;
}

interface OfficialDocument {
  readonly version: string;
  readonly operations: ReadonlyMap<string, DocumentedOperation>;
  readonly components: Json;
}

/** What is wrong with the response of one operation. */
interface Difference {
  readonly operation: string;
  readonly detail: string;
}

/** Prints the unexplained differences and returns their number. */
export async function checkResponses(engine: string): Promise<number> {
  const document = await officialDocument();
  const shared = routes.filter(({ operation }) => document.operations.has(keyOf(operation)));
  say(
    `\n== ${shared.length} operations, ${engine}, against the OpenAPI document of ${generatedClient} ${document.version}\n`,
  );
  const validate = validatorOf(document);
  const site = await openSite(engine);
  const differences: Difference[] = [];
  const shown = new Map<string, Set<string>>();
  try {
    let tenant: Tenant | undefined;
    // Deletions come last, because other operations need the resources.
    for (const route of shared.toSorted((one, other) => rankOf(one) - rankOf(other))) {
      tenant = await reuseTenant(site.api, tenant);
      let answer = await answerTo(route, site.api, tenant).catch(() => undefined);
      if (answer === undefined || answer.status >= 400) {
        // Other operations have used up what it needs.
        tenant = await makeTenant(site.api);
        answer = await answerTo(route, site.api, tenant);
      }
      recordMembers(shown, answer.body);
      differences.push(...validate(keyOf(route.operation), answer).map((detail) => ({ operation: route.id, detail })));
    }
  } finally {
    await site.remove();
  }
  differences.push(...missing(document, shown));
  return report(differences, shared.length);
}

const rankOf = ({ operation }: Route): number =>
  operation.method === "DELETE" ? 2 : operation.method === "GET" ? 0 : 1;

/** `GET /workspaces/{}/vars` */
const keyOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${path.replaceAll(/:[a-z_]+|\{[^}]*\}/g, "{}")}`;

/** Tries callers until one is allowed; otherwise returns the last error. */
async function answerTo(route: Route, api: Api, tenant: Tenant): Promise<Answer> {
  const { send, callers } = await prepareRequest(route, { api, tenant });
  const others: Caller[] = [tenant.owner, api.admin, tenant.callers["organization token"]];
  let answer: Answer | undefined;
  for (const caller of callers.length > 0 ? callers : others) {
    answer = await send(caller);
    if (answer.status < 400) break;
  }
  if (answer === undefined) throw new Error(`${route.id} has no caller.`);
  return answer;
}

// --- the document

async function officialDocument(): Promise<OfficialDocument> {
  const { folder, version } = await fetchGeneratedClient();
  const { paths, components } = JSON.parse(readFileSync(join(folder, "openapi/spec.json"), "utf8"));
  const operations = new Map<string, DocumentedOperation>();
  for (const [path, methods] of Object.entries<Json>(paths))
    for (const [method, operation] of Object.entries<Json>(methods))
      if (operation.responses !== undefined)
        operations.set(keyOf({ method: method.toUpperCase(), path }), { schemas: schemasOf(operation.responses) });
  return { version, operations, components };
}

function schemasOf(responses: Json): Map<string, Json> {
  return new Map(
    Object.entries<Json>(responses).map(([status, { content }]) => [
      status,
      content?.["application/vnd.api+json"]?.schema ?? null,
    ]),
  );
}

/** Converts OpenAPI 3.0 to JSON Schema: nullable types, and no write-only properties. */
function asJsonSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(asJsonSchema);
  if (typeof schema !== "object" || schema === null) return schema;
  // Some references point to unpublished files.
  if (typeof schema.$ref === "string" && !schema.$ref.startsWith("#/components/schemas/")) return {};
  const { nullable, example: _, discriminator: __, ...rest } = schema;
  const plain = Object.fromEntries(
    Object.entries<Json>(rest)
      .filter(
        ([name]) =>
          !["readOnly", "writeOnly", "description", "default", "externalDocs"].includes(name) && !name.startsWith("x-"),
      )
      .map(([name, value]) => [name, name === "properties" ? mapped(value) : asJsonSchema(value)]),
  );
  if (Array.isArray(plain["required"]) && schema.properties !== undefined)
    plain["required"] = plain["required"].filter((name: string) => schema.properties[name]?.writeOnly !== true);
  return nullable === true ? { anyOf: [{ type: "null" }, plain] } : plain;
}

const mapped = (properties: Json): Json =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, schema === null ? {} : asJsonSchema(schema)]),
  );

// --- validation

function validatorOf({ operations, components }: OfficialDocument): (key: string, answer: Answer) => string[] {
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: "official", components: { schemas: mapped(components.schemas) } });
  const inDocument = (schema: Json) =>
    JSON.parse(JSON.stringify(asJsonSchema(schema)).replaceAll('"$ref":"#/', '"$ref":"official#/'));
  return (key, { status, body }) => {
    const { schemas } = operations.get(key) as DocumentedOperation;
    if (status >= 400) return [`fails: ${status} ${JSON.stringify(body?.errors)}`];
    const schema = schemas.get(String(status));
    if (schema === undefined) return [`answers ${status}, but the document has ${[...schemas.keys()].join(", ")}`];
    if (schema === null) return body === undefined || typeof body === "string" ? [] : [`answers ${status} with a body`];
    const check = ajv.compile(inDocument(schema));
    if (check(body)) return [];
    const faults = (check.errors ?? []).filter(({ keyword }) => keyword !== "anyOf" && keyword !== "oneOf");
    return [...new Set(faults.map(({ instancePath, message, params }) => faultOf(instancePath, message, params)))];
  };
}

const faultOf = (path: string, message = "", params: Json = {}): string =>
  `${path.replaceAll(/\/\d+(?=\/|$)/g, "/*")} ${message}${params.allowedValues ? ` (${params.allowedValues.join(", ")})` : ""}`;

/** The members of each type that responses contained. */
function recordMembers(shown: Map<string, Set<string>>, body: Json): void {
  for (const resource of [body?.data, body?.included].flat()) {
    if (typeof resource?.type !== "string") continue;
    const members = shown.get(resource.type) ?? new Set();
    shown.set(resource.type, members);
    for (const part of ["attributes", "relationships"]) {
      for (const name of Object.keys(resource[part] ?? {})) members.add(`${part}/${name}`);
    }
  }
}

const neverShows = (member: string): string => `never shows ${member}`;

/** Documented members that no response contained. */
function missing({ components }: OfficialDocument, shown: ReadonlyMap<string, ReadonlySet<string>>): Difference[] {
  return [...shown].flatMap(([type, members]) => {
    const { properties } = components.schemas[type] ?? {};
    if (properties === undefined) return [];
    return ["attributes", "relationships"].flatMap((part) =>
      Object.entries<Json>(properties[part]?.properties ?? {})
        .filter(([name, schema]) => schema?.writeOnly !== true && !members.has(`${part}/${name}`))
        .map(([name]) => ({ operation: type, detail: neverShows(`${part}/${name}`) })),
    );
  });
}

const knownAbsent = new Set(
  absentMembers.flatMap(({ type, attributes = [], relationships = [] }) => [
    ...attributes.map((name) => `${type}: ${neverShows(`attributes/${name}`)}`),
    ...relationships.map((name) => `${type}: ${neverShows(`relationships/${name}`)}`),
  ]),
);

function report(differences: readonly Difference[], count: number): number {
  const used = new Set<DocumentException | string>();
  const isKnown = ({ operation, detail }: Difference): boolean => {
    const line = `${operation}: ${detail}`;
    const exception = knownAbsent.has(line)
      ? line
      : documentExceptions.find((each) => each.operations.includes(operation) && each.detail.test(detail));
    if (exception !== undefined) used.add(exception);
    return exception !== undefined;
  };
  const unknown = differences.filter((difference) => !isKnown(difference));
  for (const { operation, detail } of unknown) say(`✗ ${operation}: ${detail}`);
  const unused = [...documentExceptions, ...knownAbsent].filter((exception) => !used.has(exception));
  for (const exception of unused)
    say(`✗ Nothing needs the exception ${typeof exception === "string" ? exception : exception.detail}`);
  const wrong = unknown.length + unused.length;
  say(`${count} operations, ${differences.length - unknown.length} differences with a reason, ${wrong} without`);
  return wrong;
}
