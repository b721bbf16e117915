/** Imports one resource, unless it exists here. It must not change earlier imports, nor recreate what was deleted here. */
import { Capability } from "../../access/capability.ts";
import type { Tx } from "../../database/database.ts";
import { aliases } from "../../jsonapi/aliases.ts";
import type { ResourceDefinition } from "../../jsonapi/define.ts";
import { AppError } from "../../kernel/errors.ts";
import { fold } from "../../kernel/text.ts";
import type { Context } from "../../resources/shared/context.ts";
import { LocalApi } from "../local-api.ts";
import type { SourceServer } from "../source-server.ts";
import type { ImportReport } from "../report.ts";
import { type ImportLink, readLinks, writeLinks } from "../store.ts";
import { listAll, bodyOf, type WireObject, MissingResource, textOf, type WireResource } from "../wire.ts";

export interface ImportRequest {
  readonly context: Context;
  readonly source: SourceServer;
  readonly from: string;
  readonly to: string;
  readonly dry: boolean;
  readonly concurrency: number;
  readonly report: ImportReport;
  readonly signal?: AbortSignal | undefined;
}

export interface ExistingResources {
  /** The natural key is usually the case-folded name. */
  readonly byKey: ReadonlyMap<string, string>;
  readonly ids: ReadonlySet<string>;
}

const noResources: ExistingResources = { byKey: new Map(), ids: new Set() };

const placeholderId = (sourceId: string) => `placeholder ${sourceId}`;
export const isPlaceholder = (id: string): boolean => id.startsWith("placeholder ");

export interface ImportItem {
  readonly kind: string;
  readonly sourceId: string;
  readonly label: string;
  readonly key?: string;
  readonly existing: ExistingResources;
  /** Throws AppError. */
  readonly create: () => Promise<string>;
}

const issueCapability = Capability.issuer("import");

export class Importer {
  readonly api: LocalApi;
  readonly source: SourceServer;
  readonly report: ImportReport;
  readonly request: ImportRequest;
  readonly dry: boolean;
  readonly #sourceKey: string;
  #links = new Map<string, string>();
  #imported = new Set<string>();
  #organizationId: string | undefined;

  constructor(request: ImportRequest) {
    this.request = request;
    this.api = new LocalApi(request.context);
    this.source = request.source;
    this.report = request.report;
    this.dry = request.dry;
    this.#sourceKey = `${request.source.base} ${request.from}`;
  }

  localPath = (rest: string): string => `/organizations/${encodeURIComponent(this.request.to)}${rest}`;
  sourcePath = (rest: string): string => `/organizations/${encodeURIComponent(this.request.from)}${rest}`;

  /** Call this once the organization exists. */
  async useOrganization(organizationId: string): Promise<void> {
    this.#organizationId = organizationId;
    const links = await readLinks(this.request.context.database.reader, organizationId, this.#sourceKey);
    this.#links = new Map(links.map(({ kind, sourceId, ourId }) => [`${kind} ${sourceId}`, ourId]));
    this.#imported = new Set(links.map(({ kind, ourId }) => `${kind} ${ourId}`));
  }

  localIdOf = (kind: string, sourceId: string | undefined): string | undefined =>
    sourceId === undefined ? undefined : this.#links.get(`${kind} ${sourceId}`);

  wasImported = (kind: string, ourId: string): boolean => this.#imported.has(`${kind} ${ourId}`);

  async link(links: readonly ImportLink[], tx?: Tx): Promise<void> {
    for (const { kind, sourceId, ourId } of links) {
      this.#links.set(`${kind} ${sourceId}`, ourId);
      this.#imported.add(`${kind} ${ourId}`);
    }
    const organizationId = this.#organizationId;
    if (this.dry || organizationId === undefined) return;
    const owner = { organizationId, source: this.#sourceKey };
    const capability = issueCapability(organizationId);
    if (tx !== undefined) await writeLinks(tx, capability, owner, links);
    else await this.request.context.database.write((own) => writeLinks(own, capability, owner, links));
  }

  async listExisting(
    path: string,
    keyOf: (thing: WireResource) => string | undefined = nameKey,
  ): Promise<ExistingResources> {
    if (this.#organizationId === undefined) return noResources;
    const things = await listAll(this.api, path);
    return {
      byKey: new Map(things.map((thing) => [keyOf(thing) ?? thing.id, thing.id])),
      ids: new Set(things.map(({ id }) => id)),
    };
  }

  /** The parent may not exist in a dry run. */
  async listExistingOf(
    ourId: string,
    path: string,
    keyOf?: (thing: WireResource) => string | undefined,
  ): Promise<ExistingResources> {
    return isPlaceholder(ourId) ? noResources : this.listExisting(path, keyOf);
  }

  /** Undefined if it can't be imported; the reason is in the report. */
  async importOne({ kind, sourceId, label, key, existing, create }: ImportItem): Promise<string | undefined> {
    this.request.signal?.throwIfAborted();
    const linked = this.localIdOf(kind, sourceId);
    if (linked !== undefined && (existing.ids.has(linked) || isPlaceholder(linked))) {
      this.report.count(kind, "existing");
      return linked;
    }
    if (linked !== undefined) {
      this.report.skip(kind, label, "it was imported before and has been deleted here since");
      return undefined;
    }
    const known = existing.byKey.get(key ?? fold(label));
    if (known !== undefined) {
      await this.link([{ kind, sourceId, ourId: known }]);
      this.report.count(kind, "existing");
      return known;
    }
    const created = await this.attempt(kind, label, async () => (this.dry ? placeholderId(sourceId) : create()));
    if (created === undefined) return undefined;
    await this.link([{ kind, sourceId, ourId: created }]);
    this.report.count(kind, "imported");
    return created;
  }

  /** Runs once over all imports. Returns whether it ran now. */
  async runOnce(kind: string, sourceId: string, label: string, work: () => Promise<void>): Promise<boolean> {
    if (this.localIdOf(kind, sourceId) !== undefined) return false;
    const done = await this.attempt(kind, label, async () => {
      if (!this.dry) await work();
      return true;
    });
    if (done === undefined) return false;
    await this.link([{ kind, sourceId, ourId: "done" }]);
    return true;
  }

  /** Undefined if it failed; the reason is in the report. */
  async attempt<T>(kind: string, label: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      this.report.skip(kind, label, reason);
      return undefined;
    }
  }

  /** Undefined if it failed; the reason is in the report. */
  async listSource(kind: string, label: string, path: string): Promise<WireResource[] | undefined> {
    try {
      return await listAll(this.source, path);
    } catch (error) {
      if (!(error instanceof MissingResource)) throw error;
      this.report.gap(kind, label, error.message);
      return undefined;
    }
  }

  /** Empty if the source doesn't support the list. */
  async listSourceIfAny(path: string): Promise<WireResource[]> {
    try {
      return await listAll(this.source, path);
    } catch (error) {
      if (error instanceof MissingResource) return [];
      throw error;
    }
  }

  /** Leaves out and reports rejected attributes that are not required. Throws AppError. */
  async create(
    item: { kind: string; label: string },
    method: "POST" | "PATCH",
    path: string,
    body: ResourceBody,
  ): Promise<string> {
    const attributes: Record<string, unknown> = { ...body.attributes };
    for (;;) {
      try {
        const thing = await this.api.send(method, path, bodyOf(body.type, attributes, body.relationships));
        return thing?.id ?? "";
      } catch (error) {
        const refused = refusedAttributes(error, attributes, body.required ?? ["name"]);
        if (refused.length === 0) throw error;
        for (const { name, reason } of refused) {
          Reflect.deleteProperty(attributes, name);
          this.report.gap(item.kind, `${item.label}, ${name}`, `${reason}; the default is used instead`);
        }
      }
    }
  }
}

export interface ResourceBody {
  readonly type: string;
  readonly attributes: WireObject;
  readonly relationships?: WireObject;
  readonly required?: readonly string[];
}

const nameKey = (thing: WireResource) => {
  const name = textOf(thing, "name");
  return name === undefined ? undefined : fold(name);
};

function refusedAttributes(error: unknown, attributes: WireObject, required: readonly string[]) {
  if (!(error instanceof AppError) || error.code !== "invalid") return [];
  const named = error.faults.flatMap(({ pointer = "", detail }) => {
    const name = /^\/data\/attributes\/([^/]+)/.exec(pointer)?.[1] ?? "";
    return name in attributes && !required.includes(name) ? [{ name, reason: detail }] : [];
  });
  return [...new Map(named.map((each) => [each.name, each])).values()];
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof MissingResource) return error.message;
  if (!(error instanceof AppError)) return undefined;
  const fatal = ["unavailable", "internal", "unauthorized"].includes(error.code);
  return fatal ? undefined : error.faults.map(({ detail }) => detail).join("; ");
}

export function writableAttributes(
  { attributes }: WireResource,
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
