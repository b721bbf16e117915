/** A stress test: callers on several servers send random writes to few shared resources. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, Api, Json } from "../api.ts";
import { secretInUrl } from "../browser.ts";
import { makeConfiguration } from "../runs.ts";
import { pathOf, type Route, routes, writes } from "../tenant.ts";
import { bodies, varied } from "./bodies.ts";
import { runBackgroundWork } from "./jobs.ts";
import { type Params, typeOfParam, type World } from "./world.ts";

/** These need a signed URL, or would end the caller's account. */
const excluded = new Set(["uploadState", "uploadJsonState", "updateAccount", "changePassword", "createSession"]);

/** Operations that lock many rows, or often conflict, are sent more often. */
const weights: Readonly<Record<string, number>> = {
  createWorkspace: 4,
  updateWorkspace: 5,
  moveWorkspaces: 4,
  updateProject: 4,
  createProject: 2,
  addWorkspaceTags: 3,
  removeWorkspaceTags: 3,
  addTagToWorkspaces: 3,
  deleteOrganizationTags: 2,
  addRemoteStateConsumers: 2,
  updateAgentPool: 2,
  addTeamUsers: 2,
  addTeamMemberships: 2,
  createTeamProject: 2,
  createTeamWorkspace: 2,
  createOrganizationMembership: 2,
  previewAccess: 3,
  createUser: 2,
  lockWorkspace: 2,
  unlockWorkspace: 2,
  createStateVersion: 3,
  assignSshKey: 2,
  createRun: 6,
  applyRun: 3,
  discardRun: 2,
  cancelRun: 2,
  forceExecuteRun: 3,
  deleteWorkspaceByName: 0.3,
  safeDeleteWorkspaceByName: 0.3,
  safeDeleteWorkspace: 0.3,
};

const sent = routes.filter(({ id, operation }) => writes(operation) && !excluded.has(id));
const weightedRoutes = sent.flatMap((route) => Array<Route>(Math.ceil(10 * (weights[route.id] ?? 1))).fill(route));

const paramsIn = (path: string): string[] => [...path.matchAll(/:([a-z_]+)/g)].map(([, param]) => param as string);

function removedBy({ operation }: Route): string | undefined {
  const param = paramsIn(operation.path).at(-1);
  if (param === undefined) return undefined;
  const removes =
    operation.path.endsWith("safe-delete") || (operation.method === "DELETE" && operation.path.endsWith(param));
  return removes ? typeOfParam(param) : undefined;
}

const isCreation = ({ operation }: Route): boolean => operation.answer === "created" || operation.answer === "granted";

/** The last parameter first, because others follow from it. */
function paramsFor(world: World, route: Route): Params {
  let params: Params = {};
  for (const param of paramsIn(route.operation.path).toReversed()) {
    if (params[param] !== undefined) continue;
    const isShortLived = removedBy(route) === "organizations" || world.happens(0.1);
    const shared =
      param === "organization_name" && !isShortLived
        ? { id: world.organizationName, params: {} }
        : world.pick(typeOfParam(param));
    params = { ...shared.params, ...params, [param]: shared.id };
  }
  return params;
}

interface RecordedResponse {
  readonly id: string;
  readonly answer: Answer;
}

export interface Outcome {
  requests: number;
  readonly statuses: Map<string, number>;
  readonly failures: string[];
}

export class StressRun {
  readonly world: World;
  readonly #servers: readonly Api[];
  readonly outcome: Outcome = { requests: 0, statuses: new Map(), failures: [] };

  constructor(servers: readonly Api[], world: World) {
    this.#servers = servers;
    this.world = world;
  }

  /** The servers' background work runs concurrently. */
  async run(callers: number, requests: number): Promise<void> {
    const end = this.outcome.requests + requests;
    const backgroundWork = this.#servers.map(async (server) => {
      for (; this.outcome.requests < end; await sleep(20)) await this.#runBackgroundWork(server);
    });
    const writers = Array.from({ length: callers }, async (_, index) => {
      const server = this.#servers[index % this.#servers.length] as Api;
      while (this.outcome.requests < end) await this.#write(server, this.world.one(weightedRoutes));
    });
    await Promise.all([...backgroundWork, ...writers]);
  }

  async prepare(): Promise<void> {
    const creations = sent.filter(isCreation);
    for (let round = 0; round < 3; round += 1)
      for (const route of creations) await this.#write(this.#servers[0] as Api, route);
  }

  async #runBackgroundWork(server: Api): Promise<void> {
    try {
      await runBackgroundWork(server, this.world);
    } catch (error) {
      this.outcome.failures.push(`background work: ${error}`);
    }
  }

  async #write(server: Api, route: Route): Promise<void> {
    const { world } = this;
    const removed = removedBy(route);
    if (removed !== undefined && !world.canRemove(removed)) return sleep(0);
    if (isCreation(route) && !world.canCreate(route.type)) return sleep(0);
    const params = paramsFor(world, route);
    const body = bodies[route.id]?.(world) ?? varied(world, route.operation.example);
    const answer = await server.admin.send(route.operation.method, pathOf(route.operation, params), body);
    this.#record({ id: route.id, answer });
    if (answer.status < 300 && removed !== undefined)
      world.drop(removed, params[paramsIn(route.operation.path).at(-1) ?? ""] ?? "");
    if (answer.status < 300 && isCreation(route)) this.#addCreated(answer.body?.data, params);
    const link = answer.body?.data?.attributes?.["invitation-url"];
    if (link !== undefined) world.add("invitation secrets", { id: secretInUrl(link), params: {} });
    if (answer.status === 201 && route.id === "createWorkspace")
      await makeConfiguration(server, answer.body.data.id).catch(() => {});
    if (answer.status === 404) await this.#forgetDeleted(server, route, params);
  }

  #record({ id, answer }: RecordedResponse): void {
    const { statuses, failures } = this.outcome;
    this.outcome.requests += 1;
    const key = `${id} ${answer.status}`;
    statuses.set(key, (statuses.get(key) ?? 0) + 1);
    const detail: string | undefined = answer.body?.errors?.[0]?.detail;
    // Documented for a state whose content is pending, which nobody uploads here.
    if (answer.status === 503 && detail?.includes("latest state version is still pending")) return;
    if (answer.status >= 500) failures.push(`${key}: ${JSON.stringify(detail)}`);
  }

  #addCreated(created: Json, params: Params): void {
    if (typeof created?.id !== "string") return;
    const { world } = this;
    const type = created.type === "vars" && params["varset_id"] !== undefined ? "varset vars" : created.type;
    world.add(type, { id: created.id, params });
    if (type === "workspaces") world.add("workspace names", { id: created.attributes.name, params: {} });
    for (const token of created.relationships?.["oauth-tokens"]?.data ?? [])
      world.add("oauth-tokens", { id: token.id, params: {} });
  }

  /** Forgets resources that no longer exist; other requests create and delete tags as a side effect. */
  async #forgetDeleted(server: Api, { operation }: Route, params: Params): Promise<void> {
    for (const param of paramsIn(operation.path)) {
      const type = typeOfParam(param);
      const id = params[param] ?? "";
      if (param === "invitation_secret") this.world.drop(type, id);
      if (type.includes(" ")) continue;
      const shown = await server.admin.get(`/${type}/${id}`);
      if (shown.status === 404 && type !== "tags") this.world.drop(type, id);
    }
    const tags = await server.admin.get(`/organizations/${this.world.organizationName}/tags`);
    this.world.replace(
      "tags",
      (tags.body?.data ?? []).map(({ id }: Json) => id),
    );
  }
}
