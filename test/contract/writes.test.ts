/**
 * What holds for every route that writes. It is refused to somebody of the same organization who holds nothing in it; what
 * everybody may do stands in `goldens/without-refusal.txt`. Where it takes `If-Match`, the ETag that its document has lets it
 * through, once, and another does not. It leaves an event in the trail, and does nothing where that can't
 * be written; what leaves none stands in `goldens/without-event.txt`. Both lists give reasons, and only shrink. What each route
 * leaves is `goldens/trail.txt`. And it needs at most nine statements, as `statements.test.ts` says.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workspaces } from "../../src/resources/register/workspaces/definition.ts";
import { requireIfMatch } from "../../src/resources/shared/preconditions.ts";
import { type Answer, type Caller, useApi } from "../support/api.ts";
import { readReasons } from "../support/lists.ts";
import { isRefused, type Lowly, makeLowly } from "../support/lowly.ts";
import { fingerprint, Trail } from "../support/register.ts";
import { type Staged, staged } from "../support/scenes.ts";
import { makeTenant, type Route, routes, statementsMax, type Tenant, writes } from "../support/tenant.ts";

const open = readReasons("test/goldens/without-refusal.txt");
const unaudited = readReasons("test/goldens/without-event.txt");
const api = useApi();
let theTrail: Trail;

beforeAll(async () => {
  theTrail = new Trail(api.database);
  await theTrail.guard();
});
afterAll(() => theTrail.unguard());

interface Stage {
  readonly tenant: Tenant;
  readonly lowly: Lowly;
}

interface Outcome {
  /** Whether somebody of low standing was refused. */
  readonly isRefused: boolean;
  /** What it answered to an If-Match that fits nothing, where it takes one. */
  readonly stale: number | undefined;
  /** What it answered while there was no trail. */
  readonly withoutTrail: number;
  readonly events: readonly string[];
  readonly statements: number;
}

/** A content is taken in piece by piece, and belongs to nothing until all of it is there. */
const contents = ({ operation }: Route) =>
  typeof operation.body === "object" && "stream" in operation.body ? ["contents", "content_chunks"] : [];

/** These make what is missing, and `data-retention-policies.test.ts` sends them an If-Match where it is not. */
const refusesStale = ({ id, takesIfMatch }: Route) => takesIfMatch && !/^(set|change)\w+DataRetentionPolicy$/.test(id);

async function tryOn({ tenant, lowly }: Stage, route: Route): Promise<Outcome> {
  const holds = () => fingerprint(api.database, contents(route));
  let request = await staged(route, { api, tenant });
  let wasRefused = false;
  for (const [kind, caller] of route.operation.signed ? [] : lowly) {
    const before = await holds();
    const answer = await request.send(caller);
    if (isRefused(answer)) expect(await holds(), `${kind} is refused, and changes nothing`).toBe(before);
    // Somebody who was let in may have used up what was there.
    else request = await staged(route, { api, tenant });
    wasRefused ||= isRefused(answer);
  }
  const caller = await allowed(route, [...request.callers, tenant.owner, api.admin], request);
  return { isRefused: wasRefused, ...caller };

  async function allowed(
    { id, operation }: Route,
    callers: readonly Caller[],
    { send, path }: Staged,
  ): Promise<Omit<Outcome, "isRefused">> {
    const refusals: string[] = [];
    for (const each of callers) {
      const before = await holds();
      const stale = refusesStale(route) ? (await send(each, undefined, { "if-match": '"stale"' })).status : undefined;
      if (stale !== undefined) expect(await holds(), "with a stale If-Match nothing is changed").toBe(before);
      const tag = (await each.get(path)).headers.get("etag");
      const fitting = { "if-match": tag ?? "*" };
      const lost = await theTrail.without(() => send(each));
      if (lost.status >= 500) expect(await holds(), "without its event nothing is changed").toBe(before);
      const counted = api.database.statementCount();
      const answer = await send(each, undefined, fitting);
      const statements = api.database.statementCount() - counted;
      if (answer.status < 300) {
        if (tag !== null && operation.method === "PATCH")
          expect((await send(each, undefined, fitting)).status, "with the ETag from before the change").toBe(412);
        return { stale, withoutTrail: lost.status, statements, events: await eventsOf(answer) };
      }
      refusals.push(`${answer.status} ${JSON.stringify(answer.body)}`);
    }
    throw new Error(
      `${id} goes through for nobody; does test/support/scenes.ts need a line for it?\n${refusals.join("\n")}`,
    );
  }
}

async function eventsOf({ headers }: Answer): Promise<string[]> {
  const rows = await api.database.reader.db
    .selectFrom("auditEvents")
    .select("action")
    .distinct()
    .where("requestId", "=", headers.get("x-request-id"))
    .orderBy("action")
    .execute();
  return rows.map(({ action }) => action);
}

let used: Stage | undefined;

/** On what others have used before, as far as that goes; else on a tenant of its own. */
async function outcomeOf(route: Route): Promise<Outcome> {
  const onUsed = used && (await tryOn(used, route).catch(() => undefined));
  if (onUsed !== undefined && (onUsed.events.length > 0 || unaudited.has(route.id))) return onUsed;
  const tenant = await makeTenant(api);
  used = { tenant, lowly: await makeLowly(api, tenant) };
  return tryOn(used, route);
}

describe("a route that writes", () => {
  const trail = new Map<string, string>();
  // What is removed would be missed by those that come after.
  const inOrder = routes
    .filter(({ operation }) => writes(operation))
    .toSorted((a, b) => Number(a.operation.method === "DELETE") - Number(b.operation.method === "DELETE"));

  it.each(inOrder)("is refused to some, and leaves an event: $id", async (route) => {
    const outcome = await outcomeOf(route);
    trail.set(route.id, outcome.events.join(", "));
    expect(outcome.isRefused, "whether somebody of low standing is refused").toBe(!open.has(route.id));
    expect(outcome.events.length > 0, "whether it leaves an event").toBe(!unaudited.has(route.id));
    expect(outcome.stale, "with an If-Match that fits nothing").toBe(refusesStale(route) ? 412 : undefined);
    if (!unaudited.has(route.id)) expect(outcome.withoutTrail, "without a trail").toBe(500);
    if (contents(route).length === 0) expect(outcome.statements).toBeLessThanOrEqual(statementsMax(route));
  });

  it("commits nothing where its handler forgets If-Match, in any of its transactions", async () => {
    const { database, ifMatch } = requireIfMatch(api.database, "updateWidget", workspaces, undefined);
    const forgetful = () => database.write(async () => undefined);
    await expect(forgetful()).rejects.toThrow("updateWidget takes If-Match");
    await database.write(async () => ifMatch.check(undefined));
    await expect(forgetful()).rejects.toThrow("updateWidget takes If-Match");
  });

  it("leaves what trail.txt says", async () => {
    const lines = inOrder.map(
      ({ id, operation }) =>
        `${operation.method.padEnd(6)} ${operation.path}\n       ${id}: ${trail.get(id) || "nothing"}`,
    );
    await expect(`${lines.toSorted().join("\n")}\n`).toMatchFileSnapshot("../goldens/trail.txt");
  });

  it("is known, where it leaves no event", () => {
    expect([...unaudited.keys()].filter((id) => !inOrder.some((route) => route.id === id))).toEqual([]);
  });
});
