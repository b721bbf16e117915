/** Requests that should succeed: prepares the preconditions of each operation like the contract tests, so that fuzzing goes beyond errors. */
import type { Api, Answer as Received, Caller } from "../test/support/api.ts";
import { prepareRequest } from "../test/support/scenes.ts";
import { reuseTenant, type Route, routes, type Tenant } from "../test/support/tenant.ts";
import type { Operation } from "./document.ts";
import { logins } from "./logins.ts";
import type { Request } from "./requests.ts";
import type { Answer } from "./sending.ts";

export interface StagedResponse {
  readonly request: Request;
  readonly by: string;
  readonly answer: Answer;
}

const routesById = new Map<string, Route>(routes.map((route) => [route.id, route]));

export class Staging {
  readonly #api: Api;
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #chance: () => number;
  #tenant: Tenant | undefined;
  #remaining: string[] = [];

  constructor(api: Api, operations: readonly Operation[], chance: () => number) {
    this.#api = api;
    this.#operations = new Map(operations.map((operation) => [operation.id, operation]));
    this.#chance = chance;
  }

  /** Cycles through the operations, each with several callers until one is allowed. */
  async next(): Promise<StagedResponse[]> {
    const operation = this.#operations.get(this.#drawn());
    if (operation === undefined) return [];
    const { id, method, path } = operation;
    const request = { operation, method, target: `${path} (staged)`, headers: {}, body: undefined };
    this.#tenant = await reuseTenant(this.#api, this.#tenant);
    const login = logins[id];
    if (login !== undefined)
      return [{ request, by: "a command line", answer: await login(this.#api, this.#tenant.owner) }];
    const { send, callers } = await prepareRequest(routesById.get(id)!, { api: this.#api, tenant: this.#tenant });
    const all: StagedResponse[] = [];
    for (const [by, caller] of this.#callersOf(callers, this.#tenant)) {
      const answer = answerOf(await send(caller));
      all.push({ request, by, answer });
      if (isSuccess(answer.status)) break;
    }
    return all;
  }

  #drawn(): string {
    if (this.#remaining.length === 0)
      this.#remaining = [...routesById.keys(), ...Object.keys(logins)]
        .map((id) => ({ id, place: this.#chance() }))
        .toSorted((one, other) => one.place - other.place)
        .map(({ id }) => id);
    return this.#remaining.pop()!;
  }

  /** The first caller that is allowed. */
  #callersOf(own: readonly Caller[], { owner, callers }: Tenant): [string, Caller][] {
    const others: [string, Caller][] = [
      ["an owner", owner],
      ["a site admin", this.#api.admin],
      ["an organization's token", callers["organization token"]],
    ];
    return own.length > 0 ? own.map((caller) => ["its own caller", caller]) : others;
  }
}

/** Pages respond with redirects. */
export const isSuccess = (status: number): boolean => status < 400 && status !== 304;

function answerOf({ status, headers, body }: Received): Answer {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const id = headers.get("x-request-id");
  return { status, headers: id === null ? {} : { "x-request-id": id }, text };
}
