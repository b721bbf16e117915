/** Generates the OpenAPI 3.1 document from the definitions. */
import { z } from "zod";
import { aliases } from "./aliases.ts";
import type { AnyAttribute, AnswerKind, Operation, MountedResource, ResourceDefinition } from "./define.ts";
import type { Presence, Relationship } from "./relationships.ts";
import { linkageMax } from "./input.ts";
import { pageSizeDefault, pageSizeMax, type QueryDefinition } from "./query.ts";
import { acceptsBlank } from "./schemas.ts";

type SchemaObject = Record<string, unknown>;

export interface HttpMapping {
  readonly statusOf: Readonly<Record<AnswerKind, number>>;
  readonly refusals: Readonly<Record<string, string>>;
  readonly mediaType: string;
  readonly eventsMediaType: string;
  readonly contentMediaType: string;
  readonly tableMediaType: string;
  readonly basePath: string;
}

export interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

export function openApi<Context>(
  info: ApiInfo,
  resources: readonly MountedResource<Context>[],
  http: HttpMapping,
  extraPaths: Readonly<Record<string, SchemaObject>> = {},
): SchemaObject {
  const paths: Record<string, SchemaObject> = { ...extraPaths };
  for (const { definition } of resources) {
    for (const [id, operation] of Object.entries(definition.operations)) {
      const path = http.basePath + operation.path.replaceAll(/:([a-z_]+)/g, "{$1}");
      (paths[path] ??= {})[operation.method.toLowerCase()] = describeOperation(id, operation, definition, http);
    }
  }
  return {
    openapi: "3.1.0",
    info,
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: resources.map(({ definition }) => ({ name: nameOf(definition), description: definition.doc })),
    paths: Object.fromEntries(Object.entries(paths).sort(([left], [right]) => (left < right ? -1 : 1))),
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      responses: refusalResponses(http),
      schemas: {
        ...Object.fromEntries(resources.map(({ definition }) => [nameOf(definition), describeResource(definition)])),
        pagination: paginationSchema,
        errors: errorsSchema,
      },
    },
  };
}

const nameOf = ({ schemaName, type }: ResourceDefinition) => schemaName ?? type;

/** Who can call the operation. */
export function callersOf({ needs, callers }: Operation): string {
  return callers === "runs" ? `${needs}; or the token of a run, for what that run needs` : needs;
}

function describeOperation(
  id: string,
  operation: Operation,
  definition: ResourceDefinition,
  http: HttpMapping,
): SchemaObject {
  const status = http.statusOf[operation.answer];
  return {
    operationId: id,
    tags: [nameOf(definition)],
    summary: operation.summary,
    description: `Requires: ${callersOf(operation)}.`,
    ...(operation.deprecated && { deprecated: true }),
    ...((operation.isSigned || operation.isPublic) && { security: [] }),
    parameters: [
      ...pathParameters(operation.path),
      ...queryParameters(operation.query),
      ...headerParameters(operation),
    ],
    ...(operation.body !== undefined && { requestBody: describeBody(operation, definition, http) }),
    responses: {
      [status]: describeAnswer(operation, definition, http),
      ...(operation.mayWarn && operation.answer === "nothing" && { [http.statusOf.document]: warningsAnswer(http) }),
      ...(operation.noContentWhen && { [http.statusOf.nothing]: { description: operation.noContentWhen } }),
      ...Object.fromEntries(
        refusalsOf(operation).map((refused) => [refused, { $ref: `#/components/responses/${refused}` }]),
      ),
    },
  };
}

function refusalsOf(operation: Operation): string[] {
  const writes = operation.method !== "GET";
  const conflict = writes || operation.mayConflict ? ["409"] : [];
  return ["400", "401", "403", "404", ...conflict, ...(writes ? ["412", "413", "415", "422"] : []), "429", "503"];
}

function pathParameters(path: string): SchemaObject[] {
  return [...path.matchAll(/:([a-z_]+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: QueryDefinition | undefined): SchemaObject[] {
  if (query === undefined) return [];
  const parameters: SchemaObject[] = [];
  const add = (name: string, description: string, schema: SchemaObject, required = false) =>
    parameters.push({ name, in: "query", required, description, schema });
  if (query.paged === true || query.paged === "if-requested") {
    add("page[number]", "The page number; the first page is 1.", { type: "integer", minimum: 1, default: 1 });
  }
  if (query.paged === "cursor")
    add("page[cursor]", "The cursor from the previous page's `next` link.", { type: "string" });
  if (query.paged !== undefined) {
    add("page[size]", `The page size; values above ${pageSizeMax} are reduced to ${pageSizeMax}.`, {
      type: "integer",
      minimum: 1,
      default: pageSizeDefault,
    });
  }
  if (query.sort !== undefined) {
    add("sort", "The sort order; a leading `-` reverses it.", {
      type: "string",
      enum: query.sort.flatMap((key) => [key, `-${key}`]),
    });
  }
  if (query.include !== undefined) {
    add("include", `Related resources to include, comma-separated: ${query.include.join(", ")}.`, { type: "string" });
  }
  for (const [name, parameter] of Object.entries(query.parameters ?? {})) {
    add(name, parameter.doc, { type: "string" }, parameter.required);
  }
  for (const [name, parameter] of Object.entries(query.indexed ?? {})) {
    for (const member of parameter.members) add(`${name}[0][${member}]`, parameter.doc, { type: "string" });
  }
  return parameters;
}

function headerParameters(operation: Operation): SchemaObject[] {
  if (operation.answer === "events")
    return [
      {
        name: "Last-Event-ID",
        in: "header",
        required: false,
        description: "The id of the last received event; the stream resumes after it.",
        schema: { type: "string" },
      },
    ];
  if (operation.method !== "PATCH" && operation.method !== "DELETE") return [];
  return [
    {
      name: "If-Match",
      in: "header",
      required: false,
      description: "Makes the change only if the resource still has this ETag; otherwise the response is 412.",
      schema: { type: "string" },
    },
  ];
}

const bytes = { schema: { type: "string", format: "binary" } };

function describeBody(operation: Operation, definition: ResourceDefinition, http: HttpMapping): SchemaObject {
  if (typeof operation.body === "object" && "stream" in operation.body)
    return { required: true, content: { "*/*": bytes } };
  const optional =
    operation.body === "optional-create" || (typeof operation.body === "object" && "optional" in operation.body);
  return {
    required: !optional,
    content: {
      [http.mediaType]: {
        schema: bodySchema(operation, definition),
        ...(operation.example !== undefined && { example: operation.example }),
      },
    },
  };
}

function bodySchema({ body }: Operation, definition: ResourceDefinition): SchemaObject {
  if (typeof body === "object" && "custom" in body) return toJsonSchema(body.custom, "input");
  if (typeof body === "object" && "linkage" in body) {
    return object({ data: { type: "array", maxItems: linkageMax, items: identifierSchema(body.linkage, body.meta) } }, [
      "data",
    ]);
  }
  const mode = body === "update" || body === "untyped-update" ? "update" : "create";
  const attributes = membersOf(definition.attributes, mode, inputSchema);
  const relationships = membersOf(definition.relationships, mode, linkSchema);
  const data = object(
    {
      type: { const: definition.type },
      ...(Object.keys(attributes.properties).length > 0 && { attributes }),
      ...(Object.keys(relationships.properties).length > 0 && { relationships }),
    },
    ["type", ...(attributes.required ? ["attributes"] : []), ...(relationships.required ? ["relationships"] : [])],
  );
  return object({ data }, ["data"]);
}

function membersOf<Member extends Record<"create" | "update", Presence>>(
  members: Readonly<Record<string, Member>>,
  mode: "create" | "update",
  describe: (member: Member) => SchemaObject,
): { type: "object"; properties: Record<string, SchemaObject>; required?: string[] } {
  const properties: Record<string, SchemaObject> = {};
  const required: string[] = [];
  for (const [name, member] of Object.entries(members)) {
    if (member[mode] === "never") continue;
    properties[name] = describe(member);
    const alias = aliases[name];
    if (alias !== undefined) properties[alias] = properties[name];
    if (member[mode] === "required") required.push(name);
  }
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

function describeAnswer(operation: Operation, definition: ResourceDefinition, http: HttpMapping): SchemaObject {
  if (operation.answer === "nothing" || operation.answer === "done")
    return { description: "Done. The response has no body." };
  if (operation.answer === "accepted")
    return { description: "Accepted; the work continues. The response has no body." };
  if (operation.answer === "content")
    return { description: "The content.", content: { [operation.mediaType ?? http.contentMediaType]: bytes } };
  if (operation.answer === "events")
    return {
      description: "Server-sent events, until the client closes the stream or the server sends an `end` event.",
      content: { [http.eventsMediaType]: { schema: { type: "string" } } },
    };
  const item = { $ref: `#/components/schemas/${operation.answerType ?? nameOf(definition)}` };
  const included = { type: "array", items: { type: "object" } };
  const one = ["document", "created", "granted"].includes(operation.answer);
  const schema = one
    ? object({ data: item, included, ...(operation.mayWarn && { meta: warningsSchema }) }, ["data"])
    : object(
        { data: { type: "array", items: item }, included, links: { type: "object" }, meta: metaSchema(operation) },
        ["data"],
      );
  const table = operation.table && {
    [http.tableMediaType]: {
      schema: {
        type: "string",
        description: `The whole list without pages; the first line has the column names: ${operation.table.join(", ")}.`,
      },
    },
  };
  return { description: one ? "The document." : "The list.", content: { [http.mediaType]: { schema }, ...table } };
}

const anyText = { type: "string" };
const warningsSchema = object(
  {
    warnings: {
      type: "array",
      description: "The access rules that advise against the change.",
      items: object({ rule: anyText, name: anyText, message: anyText }, ["rule", "name", "message"]),
    },
  },
  [],
);

const warningsAnswer = (http: HttpMapping): SchemaObject => ({
  description: "Done, but access rules advise against it.",
  content: { [http.mediaType]: { schema: object({ meta: warningsSchema }, ["meta"]) } },
});

function metaSchema(operation: Operation): SchemaObject {
  if (operation.answer !== "list") return { type: "object" };
  const extra = operation.meta && (toJsonSchema(operation.meta, "output")["properties"] as SchemaObject);
  return object({ pagination: { $ref: "#/components/schemas/pagination" }, ...extra }, []);
}

function describeResource(definition: ResourceDefinition): SchemaObject {
  const attributes: Record<string, SchemaObject> = {};
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    if (!attribute.shown) continue;
    attributes[name] = outputSchema(attribute);
    const alias = aliases[name];
    if (alias !== undefined) attributes[alias] = attributes[name];
  }
  return {
    type: "object",
    description: definition.doc,
    required: ["id", "type", "attributes"],
    properties: {
      id: { type: "string" },
      type: { const: definition.type },
      attributes: { type: "object", properties: attributes },
      ...(Object.keys(definition.relationships).length > 0 && {
        relationships: {
          type: "object",
          properties: Object.fromEntries(
            Object.entries(definition.relationships).map(([name, relationship]) => [name, linkSchema(relationship)]),
          ),
        },
      }),
      ...(definition.links !== undefined && { links: { type: "object" } }),
    },
  };
}

function outputSchema(attribute: AnyAttribute): SchemaObject {
  const readOnly = attribute.create === "never" && attribute.update === "never";
  return {
    ...toJsonSchema(attribute.schema, "output"),
    description: attribute.doc,
    ...(readOnly && { readOnly: true }),
  };
}

function inputSchema(attribute: AnyAttribute): SchemaObject {
  return {
    ...toJsonSchema(attribute.schema, "input"),
    description: attribute.doc,
    ...(attribute.default !== undefined && { default: attribute.default }),
  };
}

function linkSchema(relationship: Relationship): SchemaObject {
  const identifier = identifierSchema(relationship.types, relationship.many ? relationship.metaSent : undefined);
  const data = relationship.many
    ? { type: "array", items: identifier }
    : relationship.nullable
      ? { anyOf: [identifier, { type: "null" }] }
      : identifier;
  return { type: "object", description: relationship.doc, properties: { data, links: { type: "object" } } };
}

function identifierSchema(types: readonly string[], meta?: z.ZodType): SchemaObject {
  const type = types.length === 1 ? { const: types[0] } : { enum: types };
  const members = { type, id: { type: "string" }, ...(meta && { meta: toJsonSchema(meta, "input") }) };
  return object(members, ["type", "id"]);
}

const blank = { const: "", description: "Treated as null." };

function toJsonSchema(schema: z.ZodType, io: "input" | "output"): SchemaObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      if (io === "input" && acceptsBlank(zodSchema)) jsonSchema.anyOf = [...(jsonSchema.anyOf ?? []), blank];
    },
  }) as SchemaObject;
  return rest;
}

function object(properties: SchemaObject, required: string[]): SchemaObject {
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

const numberOrNull = { type: ["integer", "null"] };
const paginationSchema = object(
  {
    "current-page": { type: "integer" },
    "page-size": { type: "integer" },
    "prev-page": numberOrNull,
    "next-page": numberOrNull,
    "total-pages": { type: "integer" },
    "total-count": { type: "integer" },
  },
  ["current-page", "page-size", "prev-page", "next-page", "total-pages", "total-count"],
);

const errorsSchema = object(
  {
    errors: {
      type: "array",
      items: object(
        {
          status: { type: "string" },
          title: { type: "string" },
          detail: { type: "string" },
          source: { type: "object", properties: { pointer: { type: "string" }, parameter: { type: "string" } } },
        },
        ["status", "title", "detail"],
      ),
    },
  },
  ["errors"],
);

function refusalResponses(http: HttpMapping): SchemaObject {
  return Object.fromEntries(
    Object.entries(http.refusals).map(([status, description]) => [
      status,
      { description, content: { [http.mediaType]: { schema: { $ref: "#/components/schemas/errors" } } } },
    ]),
  );
}
