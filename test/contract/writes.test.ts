/**
 * Rules for every write route. It refuses a member without permissions, and a member who can only read; `refusals.test.ts` checks routes
 * that every member can call. If it accepts If-Match, it refuses an old ETag, and succeeds with the current one and returns a new one. It
 * writes an audit event, and changes nothing if it can't; exceptions are in `goldens/without-event.txt`, and the events of each route in
 * `goldens/audit-events.txt`. It needs at most nine statements (see `write-statements.test.ts`).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workspaces } from "../../src/resources/register/workspaces/definition.ts";
import { requireIfMatch } from "../../src/resources/shared/preconditions.ts";
import { type Caller, useApi } from "../support/api.ts";
import { makeHolder } from "../support/builders.ts";
import { readReasons } from "../support/exception-lists.ts";
import { isRefused, type UnprivilegedCallers, makeUnprivileged, refusedToNonMembers } from "../support/unprivileged.ts";
import { fingerprint, AuditLogBlocker } from "../support/database-snapshots.ts";
import { type PreparedRequest, prepareRequest } from "../support/scenes.ts";
import { makeTenant, type Route, routes, statementsMax, type Tenant, writes } from "../support/tenant.ts";

const open = readReasons("test/goldens/without-refusal.txt");
const unaudited = readReasons("test/goldens/without-event.txt");
/** Operations on the reader's own account, and the preview and request of access, which a reader is allowed. */
const allowedToReaders = new Set(["updateAccount", "acceptInvitation", "previewAccess", "createAccessRequest"]);
const api = useApi();
let blocker: AuditLogBlocker;

beforeAll(async () => {
  blocker = new AuditLogBlocker(api.database);
  await blocker.install();
});
afterAll(() => blocker.uninstall());

interface TestedTenant {
  readonly tenant: Tenant;
  readonly unprivileged: UnprivilegedCallers;
  /** Can read every project and workspace, and change none. */
  readonly reader: Caller;
}

interface Outcome {
  /** Whether callers without permissions were refused, and the reader. */
  readonly isRefused: boolean;
  readonly isRefusedToReader: boolean;
  /** The status for an old ETag, if it accepts If-Match. */
  readonly toOldEtag: number | undefined;
  /** The status while the audit log was blocked. */
  readonly withAuditLogBlocked: number;
  readonly events: readonly string[];
  readonly statements: number;
}

/** A content is stored in chunks, which belong to nothing until it is complete. */
const contents = ({ operation }: Route) =>
  typeof operation.body === "object" && "stream" in operation.body ? ["contents", "content_chunks"] : [];

/** These operations also create a policy, which has no ETag yet. */
const comparesEtag = ({ id, takesIfMatch }: Route) => takesIfMatch && !/^(set|change).*RetentionPolicy$/.test(id);

async function tryOn({ tenant, unprivileged, reader }: TestedTenant, route: Route): Promise<Outcome> {
  const currentFingerprint = () => fingerprint(api.database, contents(route));
  let request = await prepareRequest(route, { api, tenant });
  let wasRefused = false;
  let wasRefusedToReader = false;
  const refusedCallers = [...unprivileged, ["a reader", reader] as const];
  for (const [kind, caller] of route.operation.isSigned ? [] : refusedCallers) {
    const before = await currentFingerprint();
    const answer = await request.send(caller);
    if (isRefused(answer)) expect(await currentFingerprint(), `${kind} is refused and changes nothing`).toBe(before);
    // A successful request may have consumed its preconditions.
    else request = await prepareRequest(route, { api, tenant });
    if (caller === reader) wasRefusedToReader = isRefused(answer);
    else wasRefused ||= isRefused(answer);
  }
  const caller = await allowed(route, [...request.callers, tenant.owner, api.admin], request);
  return { isRefused: wasRefused, isRefusedToReader: wasRefusedToReader, ...caller };

  async function allowed(
    tried: Route,
    callers: readonly Caller[],
    { send, path }: PreparedRequest,
  ): Promise<Omit<Outcome, "isRefused" | "isRefusedToReader">> {
    const refusals: string[] = [];
    const takesIfMatch = comparesEtag(tried);
    for (const each of callers) {
      const before = await currentFingerprint();
      const old = takesIfMatch ? await send(each, undefined, { "if-match": '"old"' }) : undefined;
      if (takesIfMatch) expect(await currentFingerprint(), "an old ETag changes nothing").toBe(before);
      const blocked = await blocker.whileBlocked(() => send(each));
      if (blocked.status >= 500)
        expect(await currentFingerprint(), "without its audit event nothing changes").toBe(before);
      const etag = takesIfMatch ? (await each.get(path)).headers.get("etag") : null;
      const counted = api.database.statementCount();
      const answer = await send(each, undefined, etag === null ? {} : { "if-match": etag });
      const statements = api.database.statementCount() - counted;
      if (etag !== null && answer.status === 200)
        expect(answer.headers.get("etag"), "a new ETag after a change").not.toBe(etag);
      if (answer.status < 300)
        return {
          toOldEtag: old?.status,
          withAuditLogBlocked: blocked.status,
          statements,
          events: await eventsOf(answer.headers.get("x-request-id")),
        };
      refusals.push(`${answer.status} ${JSON.stringify(answer.body)}`);
    }
    throw new Error(
      `${tried.id} succeeds for no caller; does test/support/scenes.ts need an entry for it?\n${refusals.join("\n")}`,
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

let used: TestedTenant | undefined;

/** Uses the tenant of earlier routes if that works, otherwise a new one. */
async function outcomeOf(route: Route): Promise<Outcome> {
  const onUsed = used && (await tryOn(used, route).catch(() => undefined));
  if (onUsed !== undefined && (onUsed.events.length > 0 || unaudited.has(route.id))) return onUsed;
  const tenant = await makeTenant(api);
  const reader = await makeHolder(api, tenant.name, "read-projects", "read-workspaces");
  used = { tenant, unprivileged: await makeUnprivileged(api, tenant), reader };
  return tryOn(used, route);
}

describe("a write route", () => {
  const eventsById = new Map<string, string>();
  // Deletions come last, because other routes need the resources.
  const inOrder = routes
    .filter(({ operation }) => writes(operation))
    .toSorted((a, b) => Number(a.operation.method === "DELETE") - Number(b.operation.method === "DELETE"));

  it.each(inOrder)("refuses some callers and writes an audit event: $id", async (route) => {
    const outcome = await outcomeOf(route);
    eventsById.set(route.id, outcome.events.join(", "));
    expect(outcome.isRefused, "whether callers without permissions are refused").toBe(
      !open.has(route.id) && !(route.id in refusedToNonMembers),
    );
    expect(outcome.isRefusedToReader, "whether a reader is refused").toBe(
      !open.has(route.id) && !(route.id in refusedToNonMembers) && !allowedToReaders.has(route.id),
    );
    expect(outcome.events.length > 0, "whether it writes an audit event").toBe(!unaudited.has(route.id));
    expect(outcome.toOldEtag, "the status for an old ETag").toBe(comparesEtag(route) ? 412 : undefined);
    if (!unaudited.has(route.id))
      expect(outcome.withAuditLogBlocked, "the status while the audit log is blocked").toBe(500);
    if (contents(route).length === 0) expect(outcome.statements).toBeLessThanOrEqual(statementsMax(route));
  });

  it("commits nothing if its handler forgets to check If-Match, in any of its transactions", async () => {
    const { database, ifMatch } = requireIfMatch(api.database, "updateWidget", workspaces, undefined);
    const forgetful = () => database.write(async () => undefined);
    await expect(forgetful()).rejects.toThrow("updateWidget accepts If-Match");
    await database.write(async () => ifMatch.check(undefined));
    await expect(forgetful()).rejects.toThrow("updateWidget accepts If-Match");
  });

  it("writes the events in audit-events.txt", async () => {
    const lines = inOrder.map(
      ({ id, operation }) =>
        `${operation.method.padEnd(6)} ${operation.path}\n       ${id}: ${eventsById.get(id) || "nothing"}`,
    );
    await expect(`${lines.toSorted().join("\n")}\n`).toMatchFileSnapshot("../goldens/audit-events.txt");
  });

  it("exists, if it is listed without an event", () => {
    expect([...unaudited.keys()].filter((id) => !inOrder.some((route) => route.id === id))).toEqual([]);
  });
});
