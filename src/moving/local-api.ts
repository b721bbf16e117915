/** Calls this server's own operations as the operator, without HTTP, with the same rules and audit events. */
import type {
  DocumentAnswer,
  ListAnswer,
  HttpMethod,
  Operation,
  MountedResource,
  ResourceDefinition,
} from "../jsonapi/define.ts";
import { writeResource, writeResources } from "../jsonapi/document.ts";
import { parseBody } from "../jsonapi/input.ts";
import { type Page, parseQuery, type RawQuery } from "../jsonapi/query.ts";
import { AppError } from "../kernel/errors.ts";
import { camel } from "../kernel/names.ts";
import { resources } from "../resources/index.ts";
import { recordEvents } from "../resources/shared/audit-events/writes.ts";
import type { AccessRuleScope, Context } from "../resources/shared/context.ts";
import type { RuledChange } from "../resources/shared/hooks.ts";
import { noIfMatch } from "../resources/shared/preconditions.ts";
import { findOrganizationOfRule } from "./store.ts";
import {
  MissingResource,
  type OrganizationReader,
  type ResourcePage,
  type WireResource,
  resourceOf,
  resourcesOf,
} from "./wire.ts";

interface LocalRoute {
  readonly resource: MountedResource<Context>;
  readonly id: string;
  readonly operation: Operation;
  readonly responseDefinition: ResourceDefinition;
  readonly segments: readonly string[];
}

const routes: readonly LocalRoute[] = resources.flatMap((resource) =>
  Object.entries(resource.definition.operations).map(([id, operation]) => ({
    resource,
    id,
    operation,
    responseDefinition:
      operation.answerType === undefined
        ? resource.definition
        : (resources.find(({ definition }) => definition.type === operation.answerType)?.definition ??
          resource.definition),
    segments: operation.path.split("/"),
  })),
);

interface RefusedAccess {
  readonly change: RuledChange;
  readonly ruleId: string;
  readonly message: string;
}

const isParameter = (segment: string) => segment.startsWith(":");

function routeFor(method: HttpMethod, path: string): LocalRoute {
  const given = path.split("/");
  const literalCount = ({ segments }: LocalRoute) => segments.filter((segment) => !isParameter(segment)).length;
  const [found] = routes
    .filter(({ operation, segments }) => operation.method === method && segments.length === given.length)
    .filter(({ segments }) => segments.every((segment, at) => isParameter(segment) || segment === given[at]))
    .toSorted((one, other) => literalCount(other) - literalCount(one));
  if (found === undefined) throw new Error(`no operation at ${method} ${path}`);
  return found;
}

function paramsOf({ segments }: LocalRoute, path: string): Record<string, string> {
  const given = path.split("/");
  return Object.fromEntries(
    segments.flatMap((segment, at) =>
      isParameter(segment) ? [[camel(segment.slice(1)), decodeURIComponent(given[at] ?? "")]] : [],
    ),
  );
}

const queryOf = (query: URLSearchParams): RawQuery => new Map([...query].map(([name, value]) => [name, [value]]));

export class LocalApi implements OrganizationReader {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Throws AppError. */
  async send(
    method: Exclude<HttpMethod, "GET">,
    path: string,
    body?: unknown,
    { recordsRefusal = true } = {},
  ): Promise<WireResource | undefined> {
    const refused: RefusedAccess[] = [];
    const accessRules: AccessRuleScope = {
      mode: "enforce",
      isApproved: false,
      isBreakGlass: false,
      onMatch: (change, { rule, message }) => {
        if (rule.enforcement !== "advise") refused.push({ change, ruleId: rule.id, message });
      },
    };
    const context = { ...this.#context, accessRules };
    const { answer, route } = await this.#call(method, path, new URLSearchParams(), body, context).catch(
      async (error: unknown) => {
        if (recordsRefusal && refused.length > 0) await this.#recordRefusals(refused);
        throw error;
      },
    );
    const { view } = (answer ?? {}) as Partial<DocumentAnswer<unknown>>;
    return view === undefined ? undefined : resourceOf(JSON.parse(writeResource(route.responseDefinition, view)));
  }

  async get(path: string): Promise<WireResource> {
    const [plain = "", query] = path.split("?");
    const { answer, route } = await this.#read(plain, new URLSearchParams(query));
    const { view } = answer as DocumentAnswer<unknown>;
    const resource = resourceOf(JSON.parse(writeResource(route.responseDefinition, view)));
    if (resource === undefined) throw new MissingResource(`${path} is not a document`);
    return resource;
  }

  async find(path: string): Promise<WireResource | undefined> {
    try {
      return await this.get(path);
    } catch (error) {
      if (error instanceof MissingResource) return undefined;
      throw error;
    }
  }

  async *pages(path: string): AsyncGenerator<ResourcePage> {
    const [plain = "", text] = path.split("?");
    for (let number = 1; ; number += 1) {
      const query = new URLSearchParams(text);
      query.set("page[number]", String(number));
      query.set("page[size]", "100");
      const { answer, route, page } = await this.#read(plain, query);
      const { views, totalCount, hasMore, included = [] } = answer as ListAnswer<unknown>;
      yield {
        resources: resourcesOf(JSON.parse(writeResources(route.responseDefinition, views))),
        included: included.map(({ definition, view }) => JSON.parse(writeResource(definition, view)) as WireResource),
      };
      if (!(hasMore ?? (totalCount ?? 0) > page.number * page.size)) return;
    }
  }

  /** What a rule refuses is left out, with an audit event. */
  async #recordRefusals(refused: readonly RefusedAccess[]): Promise<void> {
    const { database } = this.#context;
    await database.write(async (tx) => {
      const organizationId = await findOrganizationOfRule(tx, refused[0]?.ruleId ?? "");
      const events = refused.map(({ change: { action, resource, teamId, userId }, ruleId, message }) => ({
        organizationId,
        verb: "skip-change",
        subject: { type: "access-rules", id: ruleId },
        after: { action, resource: resource.id, team: teamId, user: userId, message },
      }));
      await recordEvents(tx, this.#context, events);
    });
  }

  async #read(path: string, query: URLSearchParams) {
    try {
      return await this.#call("GET", path, query, undefined);
    } catch (error) {
      if (error instanceof AppError && error.code === "not-found") throw new MissingResource(`${path} doesn't exist`);
      throw error;
    }
  }

  async #call(method: HttpMethod, path: string, query: URLSearchParams, body: unknown, context = this.#context) {
    const route = routeFor(method, path);
    const { resource, operation, id } = route;
    const parsed = parseQuery(operation.query, queryOf(query));
    const answer: unknown = await resource.handlers[id]?.({
      context: { ...context, ifMatch: noIfMatch },
      params: paramsOf(route, path),
      body: operation.body === undefined ? undefined : parseBody(resource.definition, operation.body, body),
      query: parsed,
    });
    return { answer, route, page: parsed["page"] as Page };
  }
}
