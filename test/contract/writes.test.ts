/**
 * What holds for every route that writes. It is refused to somebody of the same organization who holds nothing in it, and to
 * somebody who reads everything; what every member may do is refused to others by `refusals.test.ts`. With an old ETag it is refused,
 * where it takes one; with the present one it goes through, and gives another. It leaves an event in the trail, and does nothing
 * where that can't be written; what leaves none stands in `goldens/without-event.txt`. What each route leaves is `goldens/audit-events.txt`.
 * And it needs at most nine statements, as `statements.test.ts` says.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workspaces } from "../../src/resources/register/workspaces/definition.ts";
import { requireIfMatch } from "../../src/resources/shared/preconditions.ts";
import { type Caller, useApi } from "../support/api.ts";
import { makeHolder } from "../support/builders.ts";
import { readReasons } from "../support/lists.ts";
import { isRefused, type Lowly, makeLowly, refusedToNonMembers } from "../support/lowly.ts";
import { fingerprint, Trail } from "../support/register.ts";
import { type Staged, staged } from "../support/scenes.ts";
import { makeTenant, type Route, routes, statementsMax, type Tenant, writes } from "../support/tenant.ts";

const open = readReasons("test/goldens/without-refusal.txt");
const unaudited = readReasons("test/goldens/without-event.txt");
/** Changes of what is the reader's own, and a question about access that they have themselves. */
const ofReaders = new Set(["updateAccount", "acceptInvitation", "previewAccess"]);
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
  /** Somebody who reads every project and workspace, and may change none. */
  readonly reader: Caller;
}

interface Outcome {
  /** Whether somebody of low standing was refused, and somebody who reads everything. */
  readonly isRefused: boolean;
  readonly isRefusedToReader: boolean;
  /** What it answered to an old ETag, where it takes one. */
  readonly toOldEtag: number | undefined;
  /** What it answered while there was no trail. */
  readonly withoutTrail: number;
  readonly events: readonly string[];
  readonly statements: number;
}

/** A content is taken in piece by piece, and belongs to nothing until all of it is there. */
const contents = ({ operation }: Route) =>
  typeof operation.body === "object" && "stream" in operation.body ? ["contents", "content_chunks"] : [];

/** A policy is also made this way, and then there is no ETag yet. */
const comparesEtag = ({ id, takesIfMatch }: Route) => takesIfMatch && !/^(set|change).*RetentionPolicy$/.test(id);

async function tryOn({ tenant, lowly, reader }: Stage, route: Route): Promise<Outcome> {
  const holds = () => fingerprint(api.database, contents(route));
  let request = await staged(route, { api, tenant });
  let wasRefused = false;
  let wasRefusedToReader = false;
  const low = [...lowly, ["somebody who reads everything", reader] as const];
  for (const [kind, caller] of route.operation.signed ? [] : low) {
    const before = await holds();
    const answer = await request.send(caller);
    if (isRefused(answer)) expect(await holds(), `${kind} is refused, and changes nothing`).toBe(before);
    // Somebody who was let in may have used up what was there.
    else request = await staged(route, { api, tenant });
    if (caller === reader) wasRefusedToReader = isRefused(answer);
    else wasRefused ||= isRefused(answer);
  }
  const caller = await allowed(route, [...request.callers, tenant.owner, api.admin], request);
  return { isRefused: wasRefused, isRefusedToReader: wasRefusedToReader, ...caller };

  async function allowed(
    tried: Route,
    callers: readonly Caller[],
    { send, path }: Staged,
  ): Promise<Omit<Outcome, "isRefused" | "isRefusedToReader">> {
    const refusals: string[] = [];
    const takesIfMatch = comparesEtag(tried);
    for (const each of callers) {
      const before = await holds();
      const old = takesIfMatch ? await send(each, undefined, { "if-match": '"old"' }) : undefined;
      if (takesIfMatch) expect(await holds(), "with an old ETag nothing is changed").toBe(before);
      const lost = await theTrail.without(() => send(each));
      if (lost.status >= 500) expect(await holds(), "without its event nothing is changed").toBe(before);
      const etag = takesIfMatch ? (await each.get(path)).headers.get("etag") : null;
      const counted = api.database.statementCount();
      const answer = await send(each, undefined, etag === null ? {} : { "if-match": etag });
      const statements = api.database.statementCount() - counted;
      if (etag !== null && answer.status === 200)
        expect(answer.headers.get("etag"), "another ETag after a change").not.toBe(etag);
      if (answer.status < 300)
        return {
          toOldEtag: old?.status,
          withoutTrail: lost.status,
          statements,
          events: await eventsOf(answer.headers.get("x-request-id")),
        };
      refusals.push(`${answer.status} ${JSON.stringify(answer.body)}`);
    }
    throw new Error(
      `${tried.id} goes through for nobody; does test/support/scenes.ts need a line for it?\n${refusals.join("\n")}`,
    );
  }
}

async function eventsOf(requestId: string | null): Promise<string[]> {
  const rows = await api.database.reader.db
    .selectFrom("auditEvents")
    .select("action")
    .distinct()
    .where("requestId", "=", requestId)
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
  const reader = await makeHolder(api, tenant.name, "read-projects", "read-workspaces");
  used = { tenant, lowly: await makeLowly(api, tenant), reader };
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
    expect(outcome.isRefused, "whether somebody of low standing is refused").toBe(
      !open.has(route.id) && !(route.id in refusedToNonMembers),
    );
    expect(outcome.isRefusedToReader, "whether somebody who reads everything is refused").toBe(
      !open.has(route.id) && !(route.id in refusedToNonMembers) && !ofReaders.has(route.id),
    );
    expect(outcome.events.length > 0, "whether it leaves an event").toBe(!unaudited.has(route.id));
    expect(outcome.toOldEtag, "to an old ETag").toBe(comparesEtag(route) ? 412 : undefined);
    if (!unaudited.has(route.id)) expect(outcome.withoutTrail, "without a trail").toBe(500);
    if (contents(route).length === 0) expect(outcome.statements).toBeLessThanOrEqual(statementsMax(route));
  });

  it("commits nothing where its handler forgets If-Match, in any of its transactions", async () => {
    const { database, ifMatch } = requireIfMatch(api.database, "updateWidget", workspaces, undefined);
    const forgetful = () => database.write(async () => undefined);
    await expect(forgetful()).rejects.toThrow("updateWidget accepts If-Match");
    await database.write(async () => ifMatch.check(undefined));
    await expect(forgetful()).rejects.toThrow("updateWidget accepts If-Match");
  });

  it("leaves what audit-events.txt says", async () => {
    const lines = inOrder.map(
      ({ id, operation }) =>
        `${operation.method.padEnd(6)} ${operation.path}\n       ${id}: ${trail.get(id) || "nothing"}`,
    );
    await expect(`${lines.toSorted().join("\n")}\n`).toMatchFileSnapshot("../goldens/audit-events.txt");
  });

  it("is known, where it leaves no event", () => {
    expect([...unaudited.keys()].filter((id) => !inOrder.some((route) => route.id === id))).toEqual([]);
  });
});
