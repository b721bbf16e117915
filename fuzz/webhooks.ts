/** Generates signed webhooks of VCS providers, valid and mutated, so that fuzzing goes beyond the signature check. */
import fc from "fast-check";
import type { Api } from "../test/support/api.ts";
import { makeOrganization, type Org } from "../test/support/builders.ts";
import { makeConnection, type TestConnection } from "../test/support/vcs.ts";
import { newSha, providers, type TestProvider } from "../test/support/vcs-payloads.ts";
import { mutated, anyJson } from "../test/support/invalid-input.ts";
import type { Operation } from "./document.ts";
import type { Request } from "./requests.ts";

interface ProviderConnection {
  readonly provider: TestProvider;
  readonly connection: TestConnection;
}

const events = ["push", "tag", "pull-request", "star"] as const;

export class Webhooks {
  readonly #connections: readonly ProviderConnection[];
  readonly #operation: Operation;

  private constructor(operation: Operation, connections: readonly ProviderConnection[]) {
    this.#operation = operation;
    this.#connections = connections;
  }

  /** Creates a connection for each provider, in a separate organization that other requests do not change. */
  static async prepare(api: Api, operations: readonly Operation[]): Promise<Webhooks> {
    const operation = operations.find(({ path }) => path.startsWith("/webhooks/vcs/"));
    if (operation === undefined) throw new Error("the OpenAPI document has no webhooks");
    const org: Org = await makeOrganization(api);
    const connections: ProviderConnection[] = [];
    for (const provider of Object.values(providers)) {
      const connection = await makeConnection(org, { "service-provider": provider.serviceProvider });
      connections.push({ provider, connection });
    }
    return new Webhooks(operation, connections);
  }

  /** Deterministic for a seed, except for the ids. */
  next(seed: number): Request {
    const [chosen] = fc.sample(fc.constantFrom(...this.#connections), { seed, numRuns: 1 }) as [ProviderConnection];
    const { provider, connection } = chosen;
    const [event] = fc.sample(fc.constantFrom(...events), { seed: seed + 1, numRuns: 1 }) as [(typeof events)[number]];
    const valid =
      event === "tag"
        ? provider.tag("v1", newSha())
        : event === "pull-request"
          ? provider.pullRequest()
          : provider.push();
    const payload = fc.oneof(
      { weight: 2, arbitrary: fc.constant<unknown>(valid) },
      { weight: 6, arbitrary: mutated(valid) as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: anyJson as fc.Arbitrary<unknown> },
    );
    const [body] = fc.sample(payload, { seed: seed + 2, numRuns: 1 });
    const text = JSON.stringify(body) ?? "";
    const headers = { "content-type": "application/json", ...provider.headers(event, text, connection.secret) };
    const target = `/webhooks/vcs/${connection.id}`;
    return { operation: this.#operation, method: "POST", target, headers, body: text };
  }
}
