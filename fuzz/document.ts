/** The parts of the server's OpenAPI document that requests are generated from. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description?: string;
  readonly schema: Schema;
}

interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** By media type. */
  readonly bodies: Readonly<Record<string, MediaType>>;
  /** The documented statuses. */
  readonly statuses: ReadonlySet<number>;
}

interface Described {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export class Description {
  readonly operations: readonly Operation[];
  readonly #schemas: Readonly<Record<string, Schema>>;

  constructor(document: Document) {
    this.#schemas = document.components.schemas;
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => ({
        id: described.operationId ?? `${method} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: described.parameters ?? [],
        bodies: described.requestBody?.content ?? {},
        statuses: new Set(Object.keys(described.responses).map(Number)),
      })),
    );
  }

  /** What a reference leads to. */
  resolved(schema: Schema): Schema {
    const name = schema.$ref?.split("/").at(-1);
    return name === undefined ? schema : (this.#schemas[name] ?? {});
  }
}

export async function describe(url: string, token: string): Promise<Description> {
  const answer = await fetch(`${url}/api/v2/openapi.json`, { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok) throw new Error(`the OpenAPI document was answered ${answer.status}`);
  return new Description((await answer.json()) as Document);
}
