/**
 * How one thing is brought: found here by what was brought before or by its name, else made, and remembered. What was brought once is
 * never changed again, and what was deleted here stays deleted. A dry run goes the same way and makes nothing.
 */
import { Capability } from "../../access/capability.ts";
import type { Tx } from "../../database/database.ts";
import { aliases } from "../../jsonapi/aliases.ts";
import type { ResourceDefinition } from "../../jsonapi/define.ts";
import { AppError } from "../../kernel/errors.ts";
import { fold } from "../../kernel/text.ts";
import type { Context } from "../../resources/shared/context.ts";
import { Door } from "../door.ts";
import type { Peer } from "../peer.ts";
import type { Report } from "../report.ts";
import { type Link, readLinks, writeLinks } from "../store.ts";
import { all, bodyOf, type Json, Missing, textOf, type Thing } from "../wire.ts";

export interface ImportRequest {
  readonly context: Context;
  readonly peer: Peer;
  /** The organization there, and here. */
  readonly from: string;
  readonly to: string;
  readonly dry: boolean;
  readonly concurrency: number;
  readonly report: Report;
  readonly signal?: AbortSignal | undefined;
}

/** What there is here of one kind. */
export interface Shelf {
  /** By what tells them apart: mostly the name, folded. */
  readonly byKey: ReadonlyMap<string, string>;
  readonly ids: ReadonlySet<string>;
}

const nothing: Shelf = { byKey: new Map(), ids: new Set() };

/** The id of what a dry run would have made. */
const unmade = (sourceId: string) => `unmade ${sourceId}`;
export const isUnmade = (id: string): boolean => id.startsWith("unmade ");

/** One thing of the source. */
export interface Brought {
  /** A JSON:API type, or the name of a step. */
  readonly kind: string;
  readonly sourceId: string;
  /** As the report names it. */
  readonly label: string;
  readonly key?: string;
  readonly shelf: Shelf;
  /** Gives the id here. Raises AppError. */
  readonly make: () => Promise<string>;
}

const issueCapability = Capability.issuer("import");

export class Hand {
  readonly door: Door;
  readonly peer: Peer;
  readonly report: Report;
  readonly request: ImportRequest;
  readonly dry: boolean;
  readonly #source: string;
  #links = new Map<string, string>();
  #brought = new Set<string>();
  #organizationId: string | undefined;

  constructor(request: ImportRequest) {
    this.request = request;
    this.door = new Door(request.context);
    this.peer = request.peer;
    this.report = request.report;
    this.dry = request.dry;
    this.#source = `${request.peer.base} ${request.from}`;
  }

  /** The path of something of the organization here. */
  here = (rest: string): string => `/organizations/${encodeURIComponent(this.request.to)}${rest}`;
  /** The same of the one there. */
  there = (rest: string): string => `/organizations/${encodeURIComponent(this.request.from)}${rest}`;

  /** The organization is there, and what was brought to it before is known from now on. */
  async settle(organizationId: string): Promise<void> {
    this.#organizationId = organizationId;
    const links = await readLinks(this.request.context.database.reader, organizationId, this.#source);
    this.#links = new Map(links.map(({ kind, sourceId, ourId }) => [`${kind} ${sourceId}`, ourId]));
    this.#brought = new Set(links.map(({ kind, ourId }) => `${kind} ${ourId}`));
  }

  /** What has become of a thing of the source here; undefined where it was not brought. */
  ours = (kind: string, sourceId: string | undefined): string | undefined =>
    sourceId === undefined ? undefined : this.#links.get(`${kind} ${sourceId}`);

  /** Whether one of our things came from the source. */
  wasBrought = (kind: string, ourId: string): boolean => this.#brought.has(`${kind} ${ourId}`);

  /** In a transaction of its own, or in one that is under way. */
  async link(links: readonly Link[], tx?: Tx): Promise<void> {
    for (const { kind, sourceId, ourId } of links) {
      this.#links.set(`${kind} ${sourceId}`, ourId);
      this.#brought.add(`${kind} ${ourId}`);
    }
    const organizationId = this.#organizationId;
    if (this.dry || organizationId === undefined) return;
    const place = { organizationId, source: this.#source };
    const capability = issueCapability(organizationId);
    if (tx !== undefined) await writeLinks(tx, capability, place, links);
    else await this.request.context.database.write((own) => writeLinks(own, capability, place, links));
  }

  /** What this register has of a kind, by name unless told otherwise. */
  async shelf(path: string, keyOf: (thing: Thing) => string | undefined = nameKey): Promise<Shelf> {
    if (this.#organizationId === undefined) return nothing;
    const things = await all(this.door, path);
    return {
      byKey: new Map(things.map((thing) => [keyOf(thing) ?? thing.id, thing.id])),
      ids: new Set(things.map(({ id }) => id)),
    };
  }

  /** The same of what belongs to a thing here, which a dry run may not have made. */
  async shelfOf(ourId: string, path: string, keyOf?: (thing: Thing) => string | undefined): Promise<Shelf> {
    return isUnmade(ourId) ? nothing : this.shelf(path, keyOf);
  }

  /** Its id here; undefined where it does not come, which is then in the report. */
  async bring({ kind, sourceId, label, key, shelf, make }: Brought): Promise<string | undefined> {
    this.request.signal?.throwIfAborted();
    const linked = this.ours(kind, sourceId);
    if (linked !== undefined && (shelf.ids.has(linked) || isUnmade(linked))) {
      this.report.count(kind, "here");
      return linked;
    }
    if (linked !== undefined) {
      this.report.left(kind, label, "it was brought before, and deleted here since: it stays so");
      return undefined;
    }
    const known = shelf.byKey.get(key ?? fold(label));
    if (known !== undefined) {
      await this.link([{ kind, sourceId, ourId: known }]);
      this.report.count(kind, "here");
      return known;
    }
    const made = await this.attempt(kind, label, async () => (this.dry ? unmade(sourceId) : make()));
    if (made === undefined) return undefined;
    await this.link([{ kind, sourceId, ourId: made }]);
    this.report.count(kind, "brought");
    return made;
  }

  /** A step that is done once. Gives whether it was done now. */
  async once(kind: string, sourceId: string, label: string, work: () => Promise<void>): Promise<boolean> {
    if (this.ours(kind, sourceId) !== undefined) return false;
    const done = await this.attempt(kind, label, async () => {
      if (!this.dry) await work();
      return true;
    });
    if (done === undefined) return false;
    await this.link([{ kind, sourceId, ourId: "done" }]);
    return true;
  }

  /** Undefined where the register refuses it, or the source does not give it; the reason is in the report. */
  async attempt<T>(kind: string, label: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      this.report.left(kind, label, reason);
      return undefined;
    }
  }

  /** A list of the source; undefined where it does not give it, which is then in the report. */
  async listThere(kind: string, label: string, path: string): Promise<Thing[] | undefined> {
    try {
      return await all(this.peer, path);
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      this.report.gap(kind, label, error.message);
      return undefined;
    }
  }

  /** What comes beside another thing, and is not missed where the source knows no such list. */
  async listIfThere(path: string): Promise<Thing[]> {
    try {
      return await all(this.peer, path);
    } catch (error) {
      if (error instanceof Missing) return [];
      throw error;
    }
  }

  /**
   * Makes a thing. An attribute that is refused is left out, with its reason in the report, unless the thing is nothing without it.
   * Raises AppError.
   */
  async make(
    told: { kind: string; label: string },
    method: "POST" | "PATCH",
    path: string,
    body: Made,
  ): Promise<string> {
    const attributes: Record<string, unknown> = { ...body.attributes };
    for (;;) {
      try {
        const thing = await this.door.send(method, path, bodyOf(body.type, attributes, body.relationships));
        return thing?.id ?? "";
      } catch (error) {
        const refused = refusedAttributes(error, attributes, body.required ?? ["name"]);
        if (refused.length === 0) throw error;
        for (const { name, reason } of refused) {
          Reflect.deleteProperty(attributes, name);
          this.report.gap(told.kind, `${told.label}, ${name}`, `${reason}; the default is taken`);
        }
      }
    }
  }
}

export interface Made {
  readonly type: string;
  readonly attributes: Json;
  readonly relationships?: Json;
  /** What it is nothing without. */
  readonly required?: readonly string[];
}

const nameKey = (thing: Thing) => {
  const name = textOf(thing, "name");
  return name === undefined ? undefined : fold(name);
};

function refusedAttributes(error: unknown, attributes: Json, required: readonly string[]) {
  if (!(error instanceof AppError) || error.code !== "invalid") return [];
  const named = error.faults.flatMap(({ pointer = "", detail }) => {
    const name = /^\/data\/attributes\/([^/]+)/.exec(pointer)?.[1] ?? "";
    return name in attributes && !required.includes(name) ? [{ name, reason: detail }] : [];
  });
  return [...new Map(named.map((each) => [each.name, each])).values()];
}

/** What is wrong with one thing alone; undefined for what ends the whole import. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof Missing) return error.message;
  if (!(error instanceof AppError)) return undefined;
  const fatal = ["unavailable", "internal", "unauthorized"].includes(error.code);
  return fatal ? undefined : error.faults.map(({ detail }) => detail).join("; ");
}

/** The attributes of a thing that may be sent to make one like it; what is null is as if it were not there. */
export function sendable(
  { attributes }: Thing,
  definition: ResourceDefinition,
  except: readonly string[] = [],
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(definition.attributes).flatMap(([name, attribute]) => {
      if (attribute.create === "never" || except.includes(name)) return [];
      const value = attributes[name] ?? attributes[aliases[name] ?? ""];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
}
