/** The types and builders of resource definitions, from which routes, validation, documents and OpenAPI are generated. */
import type { z } from "zod";
import type { CsvTable } from "../kernel/csv.ts";
import type { Fault } from "../kernel/errors.ts";
import type { Camel } from "../kernel/names.ts";
import type { QueryDefinition, ParsedQuery } from "./query.ts";
import type { CacheValidator } from "./cache-validator.ts";
import { type Presence, type Relationship, type ToMany, toMany, toOne } from "./relationships.ts";

export interface Attribute<
  Schema extends z.ZodType,
  Create extends Presence,
  Update extends Presence,
  Column extends boolean = boolean,
  Folded extends boolean = boolean,
> {
  readonly schema: Schema;
  readonly create: Create;
  readonly update: Update;
  readonly doc: string;
  /** Undefined: the view's member of the same name in camelCase. */
  readonly from: ((view: never) => unknown) | undefined;
  /** For a new row where nothing is sent; undefined where the operation computes it. */
  readonly default: unknown;
  /** `false` for values that depend on the caller or are secret: the audit log must not have them. */
  readonly audited: boolean;
  /** `false` for write-only attributes. */
  readonly shown: boolean;
  /** `false`: `rules.ts` handles the attribute. */
  readonly column: Column;
  /** A second column, `…_key`, has the folded value for case-insensitive comparison. */
  readonly folded: Folded;
}
export type AnyAttribute = Attribute<any, any, any>;

interface AttributeOptions<View, Column, Folded> {
  readonly from?: (view: View) => unknown;
  readonly default?: unknown;
  readonly audited?: boolean;
  readonly shown?: boolean;
  readonly column?: Column;
  readonly folded?: Folded;
}

function attribute<Create extends Presence, Update extends Presence, View>(create: Create, update: Update) {
  return <S extends z.ZodType, Column extends boolean = true, Folded extends boolean = false>(
    schema: S,
    doc: string,
    options: AttributeOptions<View, Column, Folded> = {},
  ): Attribute<S, Create, Update, NoInfer<Column>, NoInfer<Folded>> => {
    const { from, default: initialValue, audited = true, shown = true, column = true, folded = false } = options;
    return { schema, create, update, doc, from, default: initialValue, audited, shown, column, folded } as never;
  };
}

export type HttpMethod = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** The kind of response of an operation. `http/respond.ts` gives each its status. */
export type AnswerKind =
  | "document"
  /** A new resource, with 201. */
  | "created"
  /** A new team access record, with 200 as the API reference specifies. */
  | "granted"
  | "list"
  | "cursor-list"
  /** Bytes; 204 if there are none yet. */
  | "content"
  /** 204 without a body. */
  | "nothing"
  /** 200 without a body. */
  | "done"
  /** 202 without a body: the work continues. */
  | "accepted"
  /** Server-sent events. */
  | "events";

/** `data` is an array of resource identifiers; other members are ignored. */
export interface LinkageBody<Meta extends z.ZodType | undefined = z.ZodType | undefined> {
  readonly linkage: readonly string[];
  readonly meta?: Meta;
}
export interface CustomBody<Schema extends z.ZodType = z.ZodType> {
  readonly custom: Schema;
  readonly optional?: boolean;
}
/** The body's bytes, streamed. The operation limits their number. */
export interface StreamBody {
  readonly stream: true;
}
/** `untyped-update` is an update whose `data.type` clients leave blank. */
export type BodyDefinition =
  | "create"
  | "update"
  | "untyped-update"
  | "optional-create"
  | LinkageBody
  | CustomBody
  | StreamBody;

export interface Operation {
  readonly method: HttpMethod;
  readonly path: string;
  readonly summary: string;
  /** Who may call the operation, for the OpenAPI document and the routes' golden file. */
  readonly needs: string;
  readonly body?: BodyDefinition;
  readonly bodyMax?: { readonly bytes: number; readonly sentence: string };
  /** No token; the operation checks the URL's signature. */
  readonly isSigned?: true;
  /** No token: anybody can call it, for example to sign in. */
  readonly isPublic?: true;
  /** `agents`: only agents, with their pool's token. `also-agents`: agents too. `runs`: also runs, with theirs. */
  readonly callers?: "agents" | "also-agents" | "runs";
  readonly query?: QueryDefinition;
  /** The definition whose ETag `If-Match` is compared with. Default: true for updates and deletions of versioned resources. */
  readonly ifMatch?: boolean | ResourceDefinition;
  readonly answer: AnswerKind;
  /** For the OpenAPI document: when the response is 204. */
  readonly noContentWhen?: string;
  /** A change of access: access rules can add warnings to the response. */
  readonly mayWarn?: true;
  /** For the OpenAPI document of a read: it can answer 409, as every write can. */
  readonly mayConflict?: true;
  /** For `content`; JSON by default. */
  readonly mediaType?: string;
  /** The type of the resource in the response, where it is not the definition's own. */
  readonly answerType?: string;
  /** The columns of a list that callers can also request as CSV. */
  readonly table?: readonly string[];
  readonly meta?: z.ZodType;
  readonly example?: unknown;
  readonly deprecated?: boolean;
}

export interface ResourceDefinition<View = any> {
  readonly type: string;
  readonly schemaName?: string;
  readonly acceptedType?: string;
  readonly typeOf?: (view: View) => string;
  readonly doc: string;
  readonly id: (view: View) => string;
  /** The row's version, and those of other rows that the document shows; undefined: no ETag. */
  readonly version?: (view: View) => number | readonly number[];
  /** For values that expire, such as signed URLs, or that change without a new snapshot id, such as a token's last use. */
  readonly isUncacheable?: true;
  /** When the document changes although nothing is written, such as the end of a lock's lease. */
  readonly changesAt?: (view: View) => string | null;
  readonly attributes: Readonly<Record<string, AnyAttribute>>;
  readonly relationships: Readonly<Record<string, Relationship<View>>>;
  readonly links?: (view: View) => Readonly<Record<string, string>> | undefined;
  readonly bodyFaults?: (attributes: never) => readonly Fault[];
  readonly operations: Readonly<Record<string, Operation>>;
}

export function ifMatchTarget(
  definition: ResourceDefinition,
  { method, body, ifMatch }: Operation,
): ResourceDefinition | undefined {
  if (typeof ifMatch === "object") return ifMatch;
  const isOrdinary = body === undefined ? method === "DELETE" : body === "update" || body === "untyped-update";
  return (ifMatch ?? (isOrdinary && definition.version !== undefined)) ? definition : undefined;
}

type ConditionOf<D, O> = O extends { readonly ifMatch: false }
  ? unknown
  : [D, O] extends [{ readonly version: unknown }, VersionedChange] | [unknown, { readonly ifMatch: unknown }]
    ? { readonly ifMatch: IfMatch }
    : unknown;
type VersionedChange =
  | { readonly body: "update" | "untyped-update" }
  | { readonly method: "DELETE"; readonly body?: undefined };

export function definitionBuilders<View>() {
  return {
    required: attribute<"required", "optional", View>("required", "optional"),
    optional: attribute<"optional", "optional", View>("optional", "optional"),
    /** Optional on creation, and can't be changed. */
    fixed: attribute<"optional", "never", View>("optional", "never"),
    /** Required on creation, and can't be changed. */
    requiredFixed: attribute<"required", "never", View>("required", "never"),
    /** Ignored when sent. */
    readOnly: attribute<"never", "never", View>("never", "never"),
    toOne: toOne<View>(),
    toMany: toMany<View>(),
  };
}
export type DefinitionBuilders<View> = ReturnType<typeof definitionBuilders<View>>;

/** `defineResource<View>()((builders) => ({ … }))`: the store loads views, and documents are made from them. */
export function defineResource<View>() {
  return <const Definition extends ResourceDefinition<View>>(
    definition: (builders: DefinitionBuilders<View>) => Definition & WithoutUnknownMembers<Definition>,
  ): Definition & { readonly view?: View } => definition(definitionBuilders<View>());
}

/** A generic parameter accepts any further members, so a misspelled option would have no effect and no error. */
type WithoutUnknownMembers<D> = Unknown<Exclude<keyof D, keyof ResourceDefinition>> &
  (D extends { readonly operations: infer Operations }
    ? {
        readonly operations: {
          readonly [Id in keyof Operations]: Unknown<Exclude<keyof Operations[Id], keyof Operation>>;
        };
      }
    : unknown);
type Unknown<Names extends PropertyKey> = { readonly [Name in Names]: UnknownMember };
interface UnknownMember {
  readonly "is not a member of a resource definition or an operation": never;
}

export type ViewOf<Definition> = Definition extends { readonly view?: infer View } ? NonNullable<View> : never;

type AttributeInput<A> = A extends Attribute<infer Schema, Presence, Presence> ? z.output<Schema> : never;
type MembersSentOn<Members, When extends "create" | "update", P extends Presence> = {
  [Name in keyof Members as Members[Name] extends { readonly [W in When]: P } ? Name : never]: Members[Name];
};

export type CreateAttributes<D extends ResourceDefinition> = {
  [Name in keyof MembersSentOn<D["attributes"], "create", "required"> as Camel<Name & string>]: AttributeInput<
    D["attributes"][Name]
  >;
} & {
  [Name in keyof MembersSentOn<D["attributes"], "create", "optional"> as Camel<Name & string>]?: AttributeInput<
    D["attributes"][Name]
  >;
};

/** Absent means unchanged, null means null. */
export type UpdateAttributes<D extends ResourceDefinition> = {
  [Name in keyof MembersSentOn<D["attributes"], "update", "optional"> as Camel<Name & string>]?: AttributeInput<
    D["attributes"][Name]
  >;
};

type LinkageInput<R> = R extends { readonly item: infer Item extends z.ZodType }
  ? readonly z.output<Item>[]
  : R extends { readonly metaSent: infer Meta extends z.ZodType }
    ? readonly ResourceIdentifier<z.output<Meta>>[]
    : R extends ToMany
      ? readonly string[]
      : string | null;
type RelationshipsInput<D extends ResourceDefinition, When extends "create" | "update"> = {
  [Name in keyof MembersSentOn<D["relationships"], When, "optional"> as Camel<Name & string>]?: LinkageInput<
    D["relationships"][Name]
  >;
} & {
  [Name in keyof MembersSentOn<D["relationships"], When, "required"> as Camel<Name & string>]: LinkageInput<
    D["relationships"][Name]
  >;
};

export interface ResourceIdentifier<Meta = unknown> {
  readonly type: string;
  readonly id: string;
  readonly meta?: Meta;
}

export type BodyOf<D extends ResourceDefinition, O extends Operation> = O["body"] extends "create"
  ? { attributes: CreateAttributes<D>; relationships: RelationshipsInput<D, "create"> }
  : O["body"] extends "optional-create"
    ? { attributes: Partial<CreateAttributes<D>>; relationships: RelationshipsInput<D, "create"> }
    : O["body"] extends "update" | "untyped-update"
      ? { attributes: UpdateAttributes<D>; relationships: RelationshipsInput<D, "update"> }
      : O["body"] extends LinkageBody<infer Meta>
        ? readonly ResourceIdentifier<Meta extends z.ZodType ? z.output<Meta> : unknown>[]
        : O["body"] extends CustomBody<infer Schema>
          ? z.output<Schema>
          : O["body"] extends StreamBody
            ? AsyncIterable<Uint8Array>
            : undefined;

type ParametersOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [N in Name as Camel<N>]: string } & ParametersOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? { readonly [N in Name as Camel<N>]: string }
    : object;

export interface OperationRequest<Context, D extends ResourceDefinition, O extends Operation> {
  readonly context: Context & ConditionOf<D, O>;
  readonly params: ParametersOf<O["path"]>;
  readonly body: BodyOf<D, O>;
  readonly query: ParsedQuery<O["query"]>;
  readonly asTable: boolean;
  readonly lastEventId: string | undefined;
}

/** Throws `precondition-failed` if the ETag differs. */
export interface IfMatch {
  /** For the locked row, after authorization; undefined where the resource does not exist yet. */
  check(view: { readonly version: number } | undefined): void;
  checkIfSent(load: () => Promise<{ readonly version: number }>): Promise<void>;
}

export interface IncludedResource {
  readonly definition: ResourceDefinition;
  readonly view: unknown;
}

interface CacheableAnswer {
  readonly validator?: CacheValidator;
  /** If only changes of this organization, or of the site, can alter the response. Absent: any commit may. */
  readonly changesWith?: string | undefined;
  readonly included?: readonly IncludedResource[] | undefined;
  /** In milliseconds: when a cached response expires for another reason than `changesAt`. */
  readonly until?: number | undefined;
}

export interface DocumentAnswer<View> extends CacheableAnswer {
  readonly view: View;
}

export interface ListAnswer<View> extends CacheableAnswer {
  readonly views: readonly View[];
  readonly totalCount?: number;
  readonly hasMore?: boolean;
  readonly statusCounts?: { readonly total: number; readonly matching: number };
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface CursorAnswer<View> {
  readonly views: readonly View[];
  readonly nextCursor: string | undefined;
}

export interface ContentAnswer {
  readonly size: number;
  /** If it fails, the connection is closed, so that the client notices the truncation. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Each event is produced when the previous one was consumed. */
export interface EventsAnswer {
  readonly events: AsyncIterable<string>;
  /** Called once when the stream ends, even if nothing was read. */
  readonly close: () => void;
}

export type AnswerOf<D extends ResourceDefinition, O extends Operation> =
  | (O extends { readonly answerType: string } ? AnswerFor<any, O["answer"]> : AnswerFor<ViewOf<D>, O["answer"]>)
  | (O extends { readonly table: readonly string[] } ? CsvTable : never);
type AnswerFor<View, Kind extends AnswerKind> = Kind extends "list"
  ? ListAnswer<View>
  : Kind extends "cursor-list"
    ? CursorAnswer<View>
    : Kind extends "content"
      ? ContentAnswer | undefined
      : Kind extends "events"
        ? EventsAnswer
        : Kind extends "nothing" | "done" | "accepted"
          ? void
          : DocumentAnswer<View>;

export type Handlers<Context, D extends ResourceDefinition> = {
  readonly [Id in keyof D["operations"]]: (
    request: OperationRequest<Context, D, D["operations"][Id]>,
  ) => Promise<AnswerOf<D, D["operations"][Id]>>;
};

export interface MountedResource<Context> {
  readonly definition: ResourceDefinition;
  readonly handlers: Readonly<Record<string, (request: any) => Promise<any>>>;
  /** By operation: checks that run before a large body is read. */
  readonly bodyChecks?: Readonly<Record<string, (request: any) => Promise<void>>> | undefined;
  readonly context?: Context;
}
