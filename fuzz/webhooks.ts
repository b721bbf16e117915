/** What providers of version control send, and what they would never send, signed as they sign: what gets past the signature is fuzzed too. */
import fc from "fast-check";
import type { Api } from "../test/support/api.ts";
import { makeOrganization, type Org } from "../test/support/builders.ts";
import { makeConnection, type TestConnection } from "../test/support/vcs.ts";
import { newSha, providers, type TestProvider } from "../test/support/vcs-payloads.ts";
import { mutated, wildJson } from "../test/support/wild.ts";
import type { Operation } from "./document.ts";
import type { Request } from "./requests.ts";

interface Line {
  readonly provider: TestProvider;
  readonly connection: TestConnection;
}

const events = ["push", "tag", "pull-request", "star"] as const;

export class Webhooks {
  readonly #lines: readonly Line[];
  readonly #operation: Operation;

  private constructor(operation: Operation, lines: readonly Line[]) {
    this.#operation = operation;
    this.#lines = lines;
  }

  /** In an organization of their own, which nobody else knows of. */
  static async prepare(api: Api, operations: readonly Operation[]): Promise<Webhooks> {
    const operation = operations.find(({ path }) => path.startsWith("/webhooks/vcs/"));
    if (operation === undefined) throw new Error("the OpenAPI document tells of no webhooks");
    const org: Org = await makeOrganization(api);
    const lines: Line[] = [];
    for (const provider of Object.values(providers)) {
      const connection = await makeConnection(org, { "service-provider": provider.serviceProvider });
      lines.push({ provider, connection });
    }
    return new Webhooks(operation, lines);
  }

  /** The same for the same seed, but for the ids. */
  next(seed: number): Request {
    const [line] = fc.sample(fc.constantFrom(...this.#lines), { seed, numRuns: 1 }) as [Line];
    const { provider, connection } = line;
    const [event] = fc.sample(fc.constantFrom(...events), { seed: seed + 1, numRuns: 1 }) as [(typeof events)[number]];
    const right =
      event === "tag"
        ? provider.tag("v1", newSha())
        : event === "pull-request"
          ? provider.pullRequest()
          : provider.push();
    const payload = fc.oneof(
      { weight: 2, arbitrary: fc.constant<unknown>(right) },
      { weight: 6, arbitrary: mutated(right) as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: wildJson as fc.Arbitrary<unknown> },
    );
    const [body] = fc.sample(payload, { seed: seed + 2, numRuns: 1 });
    const text = JSON.stringify(body) ?? "";
    const headers = { "content-type": "application/json", ...provider.headers(event, text, connection.secret) };
    const target = `/webhooks/vcs/${connection.id}`;
    return { operation: this.#operation, method: "POST", target, headers, body: text };
  }
}
