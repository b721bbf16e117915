/**
 * The words in which a resource is written down. A definition holds each attribute, relationship and operation once;
 * routes, validation, documents and OpenAPI are made from it. It refuses nothing itself: `verify.ts` does, at start.
 */
import type { z } from "zod";
import type { Table } from "../kernel/csv.ts";
import type { Fault } from "../kernel/errors.ts";
import type { Camel } from "../kernel/names.ts";
import type { QueryDefinition, QueryOf } from "./query.ts";
import type { Warrant } from "./warrant.ts";
import { type Presence, type Relationship, type ToMany, toMany, toOne } from "./relationships.ts";

// --- attributes

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
  /** Undefined: the view's member of the same name, in camelCase. */
  readonly from: ((view: never) => unknown) | undefined;
  /** What a creation without it means (`columns.ts`); undefined where the operation gives that. */
  readonly default: unknown;
  /** `false` for what depends on the caller or is secret: it does not enter the audit trail. */
  readonly audited: boolean;
  /** `false` for what is only ever taken in. */
  readonly shown: boolean;
  /** `false` where no column of its name holds it: `rules.ts` says what becomes of it. */
  readonly column: Column;
  /** Whether a second column, `…_key`, holds it folded, because case is ignored. */
  readonly folded: Folded;
}
/** The widest attribute. */
export type AnyAttribute = Attribute<any, any, any>;

interface AttributeOptions<View, Column, Folded> {
  readonly from?: (view: View) => unknown;
  readonly default?: unknown;
  readonly audited?: boolean;
  readonly shown?: boolean;
  readonly column?: Column;
  readonly folded?: Folded;
}

/** A word for an attribute that may be sent when. */
function attribute<Create extends Presence, Update extends Presence, View>(create: Create, update: Update) {
  return <S extends z.ZodType, Column extends boolean = true, Folded extends boolean = false>(
    schema: S,
    doc: string,
    options: AttributeOptions<View, Column, Folded> = {},
  ): Attribute<S, Create, Update, NoInfer<Column>, NoInfer<Folded>> => {
    const { from, default: initially, audited = true, shown = true, column = true, folded = false } = options;
    return { schema, create, update, doc, from, default: initially, audited, shown, column, folded } as never;
  };
}

// --- operations

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/**
 * `document` 200, `created` 201, `granted` 200 (a record of access that was made), `list` 200 with pagination, `content` 200
 * with the bytes of something that is no document (204 where there are none yet), `nothing` 204, `done` 200 and `accepted` 202
 * without a body (then what was asked for is under way), `events` 200 with a stream of server-sent events. Only `http/respond.ts`
 * knows these numbers.
 */
export type AnswerKind =
  | "document"
  | "created"
  | "granted"
  | "list"
  | "cursor-list"
  | "content"
  | "nothing"
  | "done"
  | "accepted"
  | "events";

/** A body that is `data`: an array of resource identifiers, whose other members are ignored. */
export interface LinkageBody<Meta extends z.ZodType | undefined = z.ZodType | undefined> {
  readonly linkage: readonly string[];
  /** What may be said of each link in its `meta`; without it that is ignored, too. */
  readonly meta?: Meta;
}
/** A body of its own shape. */
export interface CustomBody<Schema extends z.ZodType = z.ZodType> {
  readonly custom: Schema;
  readonly optional?: boolean;
}
/** Bytes of any media type, handed on as they arrive; whoever takes them bounds how many. */
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
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  /** Who may, in words: it stands in the routes' golden file and in the OpenAPI document. */
  readonly needs: string;
  readonly body?: BodyDefinition;
  /** Where a body may be larger than others: how large, and what to do with one that is larger still. */
  readonly bodyMax?: { readonly bytes: number; readonly sentence: string };
  /** The URL is its own permission: there is no token, and the operation checks the signature. */
  readonly signed?: true;
  /** Whoever calls it is nobody yet: there is no token. */
  readonly open?: true;
  /** `agents`: nobody but agents calls it, by the token of their pool. `runs`: the token of a run does, too. */
  readonly callers?: "agents" | "runs";
  readonly query?: QueryDefinition;
  /**
   * Whether `If-Match` is compared, or the definition whose ETag it is compared with. Left out, an update or a deletion of a thing with a
   * version takes it, and nothing else does.
   */
  readonly ifMatch?: boolean | ResourceDefinition;
  readonly answer: AnswerKind;
  /** When there is nothing to answer with, as a sentence: 204 then. */
  readonly elseNothing?: string;
  /** Of one that reads: whether what is there may be in no state to be answered with. Whatever writes may always meet that. */
  readonly mayConflict?: true;
  /** Of an answer that is `content`; JSON where it is absent. */
  readonly mediaType?: string;
  /** The resource that it answers with, where that is not the one whose definition it stands in. */
  readonly answers?: string;
  /** The columns of a list that is also given whole, as a table, to callers that ask for that by `Accept`. */
  readonly table?: readonly string[];
  /** What a list's `meta` tells beside its pages. */
  readonly meta?: z.ZodType;
  /** A body that is accepted, for the documentation and for tests that try every route. */
  readonly example?: unknown;
  readonly deprecated?: boolean;
}

// --- resources
export interface ResourceDefinition<View = any> {
  readonly type: string;
  /** Its name in the OpenAPI document, where another definition has the same type. */
  readonly schemaName?: string;
  /** What else clients call it in the bodies that they send. */
  readonly alsoTyped?: string;
  /** Where one definition serves things of more than one type: the type of this one. */
  readonly typeOf?: (view: View) => string;
  readonly doc: string;
  readonly id: (view: View) => string;
  /** The row's version, for the ETag, and those of what it shows of other rows; undefined for what has none. */
  readonly version?: (view: View) => number | readonly number[];
  /**
   * Its documents show what ends with time, such as signed URLs, or is noted unseen, such as the time of a token's last use: they are
   * made anew for every answer.
   */
  readonly hasExpiring?: true;
  /** When a document changes by itself, though nothing is written: an answer that shows it is not given again from then on. */
  readonly changesAt?: (view: View) => string | null;
  readonly attributes: Readonly<Record<string, AnyAttribute>>;
  readonly relationships: Readonly<Record<string, Relationship<View>>>;
  readonly links?: (view: View) => Readonly<Record<string, string>> | undefined;
  /** What is wrong with attributes that are each right by themselves, as far as the body alone shows it. */
  readonly bodyFaults?: (attributes: never) => readonly Fault[];
  readonly operations: Readonly<Record<string, Operation>>;
}

/** The definition whose ETag an operation compares `If-Match` with; undefined for an operation that does not take it. */
export function ifMatchTarget(
  definition: ResourceDefinition,
  { method, body, ifMatch }: Operation,
): ResourceDefinition | undefined {
  if (typeof ifMatch === "object") return ifMatch;
  const isOrdinary = body === undefined ? method === "DELETE" : body === "update" || body === "untyped-update";
  return (ifMatch ?? (isOrdinary && definition.version !== undefined)) ? definition : undefined;
}

/** The same for the type checker: what the context of an operation has beside others. */
type ConditionOf<D, O> = O extends { readonly ifMatch: false }
  ? unknown
  : [D, O] extends [{ readonly version: unknown }, VersionedChange] | [unknown, { readonly ifMatch: unknown }]
    ? { readonly ifMatch: IfMatch }
    : unknown;
type VersionedChange =
  | { readonly body: "update" | "untyped-update" }
  | { readonly method: "DELETE"; readonly body?: undefined };

/** The words of a definition, each knowing what the view is; for a piece of one that stands outside it. */
export function wordsFor<View>() {
  return {
    /** Must be sent on create, may be sent on update. */
    required: attribute<"required", "optional", View>("required", "optional"),
    /** May be sent on create and on update. */
    optional: attribute<"optional", "optional", View>("optional", "optional"),
    /** May be sent on create, and never changes. */
    fixed: attribute<"optional", "never", View>("optional", "never"),
    /** Must be sent on create, and never changes. */
    once: attribute<"required", "never", View>("required", "never"),
    /** Shown only; ignored when sent. */
    readOnly: attribute<"never", "never", View>("never", "never"),
    toOne: toOne<View>(),
    toMany: toMany<View>(),
  };
}
export type Words<View> = ReturnType<typeof wordsFor<View>>;

/** `defineResource<View>()((words) => ({ … }))`: the view is what the store loads and documents are made from. */
export function defineResource<View>() {
  return <const Definition extends ResourceDefinition<View>>(
    definition: (words: Words<View>) => Definition,
  ): Definition & { readonly view?: View } => definition(wordsFor<View>());
}

export type ViewOf<Definition> = Definition extends { readonly view?: infer View } ? NonNullable<View> : never;

// --- what an operation's handler gets

type AttributeInput<A> = A extends Attribute<infer Schema, Presence, Presence> ? z.output<Schema> : never;
type MembersSentOn<Members, When extends "create" | "update", P extends Presence> = {
  [Name in keyof Members as Members[Name] extends { readonly [W in When]: P } ? Name : never]: Members[Name];
};

/** Attributes of a creation: required ones are there, optional ones may be absent. */
export type CreateAttributes<D extends ResourceDefinition> = {
  [Name in keyof MembersSentOn<D["attributes"], "create", "required"> as Camel<Name & string>]: AttributeInput<
    D["attributes"][Name]
  >;
} & {
  [Name in keyof MembersSentOn<D["attributes"], "create", "optional"> as Camel<Name & string>]?: AttributeInput<
    D["attributes"][Name]
  >;
};

/** Attributes of an update: absent means unchanged, null means null. */
export type UpdateAttributes<D extends ResourceDefinition> = {
  [Name in keyof MembersSentOn<D["attributes"], "update", "optional"> as Camel<Name & string>]?: AttributeInput<
    D["attributes"][Name]
  >;
};

type LinkageInput<R> = R extends { readonly item: infer Item extends z.ZodType }
  ? readonly z.output<Item>[]
  : R extends { readonly metaSent: infer Meta extends z.ZodType }
    ? readonly Identifier<z.output<Meta>>[]
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

export interface Identifier<Meta = unknown> {
  readonly type: string;
  readonly id: string;
  /** Absent where nothing was said of the link. */
  readonly meta?: Meta;
}

export type BodyOf<D extends ResourceDefinition, O extends Operation> = O["body"] extends "create"
  ? { attributes: CreateAttributes<D>; relationships: RelationshipsInput<D, "create"> }
  : O["body"] extends "optional-create"
    ? { attributes: Partial<CreateAttributes<D>>; relationships: RelationshipsInput<D, "create"> }
    : O["body"] extends "update" | "untyped-update"
      ? { attributes: UpdateAttributes<D>; relationships: RelationshipsInput<D, "update"> }
      : O["body"] extends LinkageBody<infer Meta>
        ? readonly Identifier<Meta extends z.ZodType ? z.output<Meta> : unknown>[]
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
  readonly query: QueryOf<O["query"]>;
  /** Whether the list is asked for as a table. */
  readonly asTable: boolean;
  /** The header by which a client continues a stream of events; undefined where it was not sent. */
  readonly lastEventId: string | undefined;
}

/** The `If-Match` of a request, sent or not. Raises `precondition-failed` for what has another ETag. */
export interface IfMatch {
  /** For the locked row, once the caller's right to change it is known; undefined where the thing does not exist yet. */
  check(view: { readonly version: number } | undefined): void;
  /** The same for what is only loaded if the header was sent. */
  checkIfSent(load: () => Promise<{ readonly version: number }>): Promise<void>;
}

/** A thing to show beside the main one. */
export interface Included {
  readonly definition: ResourceDefinition;
  readonly view: unknown;
}

interface CacheableAnswer {
  /** Where it can be told cheaply that the same answer is still right. */
  readonly warrant?: Warrant;
  readonly included?: readonly Included[] | undefined;
  /** In milliseconds: from when on it has to be made anew for another reason than what its documents tell (`changesAt`). */
  readonly until?: number | undefined;
}

export interface DocumentAnswer<View> extends CacheableAnswer {
  readonly view: View;
}

export interface ListAnswer<View> extends CacheableAnswer {
  readonly views: readonly View[];
  /** Undefined for a list that is complete: no pagination is shown. */
  readonly totalCount?: number;
  /** Instead, of a list that nobody counts: whether there is another page. */
  readonly hasMore?: boolean;
  readonly statusCounts?: { readonly total: number; readonly matching: number };
  /** What its `meta` tells beside that. */
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface CursorAnswer<View> {
  readonly views: readonly View[];
  readonly nextCursor: string | undefined;
}

export interface ContentAnswer {
  readonly size: number;
  /** One that fails breaks the connection off, so that nobody takes a part for the whole. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Server-sent events, each made when the one before was taken. */
export interface EventsAnswer {
  readonly events: AsyncIterable<string>;
  /** Called once when the stream is over, also where nobody has read any of it. */
  readonly close: () => void;
}

export type AnswerOf<D extends ResourceDefinition, O extends Operation> =
  | (O extends { readonly answers: string } ? AnswerFor<any, O["answer"]> : AnswerFor<ViewOf<D>, O["answer"]>)
  | (O extends { readonly table: readonly string[] } ? Table : never);
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

/** A definition with its handlers: what the HTTP adapter mounts. */
export interface Resource<Context> {
  readonly definition: ResourceDefinition;
  readonly handlers: Readonly<Record<string, (request: any) => Promise<any>>>;
  /** Who may send a body that is larger than others at all: asked before it is gathered. */
  readonly admissions?: Readonly<Record<string, (request: any) => Promise<void>>> | undefined;
  readonly context?: Context;
}
