/** Who can follow a run, for how long, and how many: refusals, the end of access, limits, slow readers, and a server that stops. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../../../src/database/engines/open.ts";
import { type Api, type Json, startApi, startApiOn } from "../../../support/api.ts";
import { data, type Member, type Org } from "../../../support/builders.ts";
import { type EventStream, openStream } from "../../../support/event-stream.ts";
import { type StoredRun, storeRun } from "../../../support/phases.ts";
import { until } from "../../../support/waiting.ts";
import { appendToLog } from "./writing.ts";

const limits = { perCaller: 3, perServer: 5, checkMs: 300, heartbeatMs: 200, lifetimeMs: 3_600_000 };
let api: Api;
let org: Org;
let workspace: Json;
let run: StoredRun;
let team: Json;
let grantId: string;
let member: Member;

beforeAll(async () => {
  api = await startApi({ options: { streams: limits } });
  org = await api.makeOrganization();
});
afterAll(() => api.stop());

beforeEach(async () => {
  workspace = await api.makeWorkspace(org.name);
  run = await storeRun(api, workspace, org.id);
  team = await api.makeTeam(org.name);
  grantId = (await api.makeTeamWorkspace(workspace.id, team.id, { access: "read" })).id;
  member = await api.makeMember(org.name, [team.id]);
});

const openAs = (token: string | undefined, options: object = {}) => openStream(api, run.id, { token, ...options });

/** The stream ends with a reason, and has nothing that is written afterwards. */
async function expectEnd(stream: EventStream): Promise<void> {
  await stream.until(({ event, data: ending }) => event === "end" && ending.reason === "access");
  await stream.closed();
  expect(stream.text()).not.toContain("afterwards");
}

describe("only callers who can read the run can follow it", () => {
  it("401 without a token; 404 for others, for members without access, and for an unknown run", async () => {
    expect((await openAs(undefined)).status).toBe(401);
    const stranger = await api.makeOrganization();
    expect((await openAs(stranger.owner.token)).status).toBe(404);
    const bystander = await api.makeMember(org.name, [(await api.makeTeam(org.name)).id]);
    expect((await openAs(bystander.token)).status).toBe(404);
    expect((await openStream(api, "run-0000000000000000", { token: org.owner.token })).status).toBe(404);
  });
});

describe("a stream is closed when access ends", () => {
  const tokenIdOf = async (): Promise<string> =>
    data(await api.admin.get(`/users/${member.id}/authentication-tokens`))[0].id;

  const ends: Record<string, () => Promise<unknown>> = {
    "the grant is removed": () => api.admin.delete(`/team-workspaces/${grantId}`),
    "the grant expires": () =>
      api.database.write((tx) =>
        tx.db
          .updateTable("teamWorkspaces")
          .set({ expiresAt: new Date(Date.now() - 1000).toISOString() })
          .where("id", "=", grantId)
          .execute(),
      ),
    "the token is revoked": async () => api.admin.delete(`/authentication-tokens/${await tokenIdOf()}`),
    "the token expires": async () => {
      const id = await tokenIdOf();
      return api.database.write((tx) =>
        tx.db
          .updateTable("tokens")
          .set({ expiredAt: new Date(Date.now() - 1000).toISOString() })
          .where("id", "=", id)
          .execute(),
      );
    },
    "the user leaves the organization": () => org.owner.delete(`/organization-memberships/${member.membershipId}`),
    "the user is deleted": () => api.admin.delete(`/admin/users/${member.id}`),
    "the workspace is deleted": () => api.admin.delete(`/workspaces/${workspace.id}`),
  };

  it.each(Object.keys(ends))("because %s", async (why) => {
    await appendToLog(api, run.plan.id, 0, "before\n");
    const stream = await openAs(member.token);
    await stream.until(() => stream.text() === "before\n");
    await ends[why]!();
    await expectEnd(stream);
    const again = await openAs(member.token);
    expect([401, 404]).toContain(again.status);
  });

  it("because a team's token is replaced", async () => {
    const stream = await openAs((await api.makeTeamToken(team.id)).token);
    await stream.until(({ event }) => event === "run");
    await api.makeTeamToken(team.id);
    await expectEnd(stream);
  });
});

describe("limits", () => {
  it("429 beyond the limit of a caller, 503 beyond that of the server; closing a stream makes room", async () => {
    const own = await Promise.all([1, 2, 3].map(() => openAs(member.token)));
    expect(own.map(({ status }) => status)).toEqual([200, 200, 200]);
    const beyond = await openAs(member.token);
    expect(beyond.status).toBe(429);
    expect(beyond.headers["retry-after"]).toBe("30");
    expect(beyond.refusal.errors[0].detail).toContain("You have 3 open streams");
    const others = await Promise.all([1, 2].map(() => openAs(org.owner.token)));
    const full = await openAs(org.owner.token);
    expect(full.status).toBe(503);
    expect(full.headers["retry-after"]).toBe("30");
    for (const stream of own) stream.close();
    const free = await until(async () => {
      const stream = await openAs(member.token);
      return stream.status === 200 && stream;
    });
    for (const stream of [...others, free]) stream.close();
    await until(async () => {
      const all = await Promise.all([1, 2, 3].map(() => openAs(member.token)));
      for (const stream of all) stream.close();
      return all.every(({ status }) => status === 200);
    });
  });

  it("429 beyond the limit of an organization, for any caller; another organization has its own limit", async () => {
    const narrow = await startApiOn(
      { address: api.address, database: api.database, drop: async () => {} },
      { options: { streams: { ...limits, perOrganization: 2 } } },
    );
    const [own, other] = [await api.makeOrganization(), await api.makeOrganization()];
    const runOf = async ({ id, name }: Org) => storeRun(api, await api.makeWorkspace(name), id);
    const [ownRun, otherRun] = [await runOf(own), await runOf(other)];
    const first = await openStream(narrow, ownRun.id, { token: own.owner.token });
    const second = await openStream(narrow, ownRun.id, { token: api.admin.token });
    const beyond = await openStream(narrow, ownRun.id, { token: own.owner.token });
    expect(beyond.status).toBe(429);
    expect(beyond.headers["retry-after"]).toBe("30");
    expect(beyond.refusal.errors[0].detail).toBe(
      "This organization has 2 open streams on this server, the maximum for one organization. Close one of them, or poll the run.",
    );
    const elsewhere = await openStream(narrow, otherRun.id, { token: api.admin.token });
    expect([first, second, elsewhere].map(({ status }) => status)).toEqual([200, 200, 200]);
    second.close();
    const again = await until(async () => {
      const stream = await openStream(narrow, ownRun.id, { token: own.owner.token });
      return stream.status === 200 && stream;
    });
    for (const stream of [first, elsewhere, again]) stream.close();
    await narrow.server.close();
  });

  it("sends comments while idle, with few statements", async () => {
    const stream = await openAs(member.token);
    await stream.until(({ event }) => event === "run");
    const before = api.database.statementCount();
    await until(() => stream.heartbeats() >= 10);
    // By the shared poller and the stream's own checks; the limits of this file are several times lower than the defaults.
    expect(api.database.statementCount() - before).toBeLessThan(8 * stream.heartbeats());
    expect(stream.events).toHaveLength(1);
    stream.close();
  });

  it("a stream is closed at its maximum age, and the client resumes", async () => {
    const short = await startApiOn(
      { address: api.address, database: api.database, drop: async () => {} },
      { options: { streams: { lifetimeMs: 500 } } },
    );
    let [text, lastEventId] = ["", "0.0."];
    for (const [at, line] of ["one\n", "two\n", "six\n"].entries()) {
      await appendToLog(api, run.plan.id, 4 * at, line);
      await until(async () => {
        const stream = await openStream(short, run.id, { token: member.token, lastEventId });
        await stream.closed();
        expect(stream.events.map(({ event }) => event)).not.toContain("end");
        text += stream.text();
        lastEventId = stream.events.at(-1)?.id ?? lastEventId;
        return text.endsWith(line);
      });
    }
    expect(text).toBe("one\ntwo\nsix\n");
    await short.server.close();
  });
});

describe("a slow reader", () => {
  it("buffers only a few parts of the log in memory, and receives all of it", async () => {
    const line = `${"x".repeat(1023)}\n`;
    const piece = line.repeat(1024);
    for (let at = 0; at < 24; at += 1) await appendToLog(api, run.plan.id, at * piece.length, piece);
    const begin = readsOf(api);
    const stream = await openAs(member.token, { isPaused: true });
    // It only reads while the client consumes: statements stop although most of the log is still to be sent.
    const quiet = async () => {
      const before = readsOf(api);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return readsOf(api) - before < 40;
    };
    await until(quiet, "the server waits for the reader");
    // The sockets buffer a part of it; the whole log would be 768 parts.
    expect(readsOf(api) - begin).toBeLessThan(600);
    stream.resume();
    await until(() => stream.text().length >= 24 * piece.length);
    expect(digest(stream.text())).toBe(digest(piece.repeat(24)));
    stream.close();
  });
});

const readsOf = ({ database }: Api): number => database.statementCount();
const digest = (text: string) => createHash("sha256").update(text).digest("hex");

describe("a server that stops", () => {
  it("ends its streams, also those of clients that read nothing", async () => {
    const own = await startApiOn({ address: api.address, database: api.database, drop: async () => {} });
    await appendToLog(api, run.plan.id, 0, "x".repeat(8_000_000));
    const [reading, stalled] = await Promise.all([
      openStream(own, run.id, { token: org.owner.token }),
      openStream(own, run.id, { token: org.owner.token, isPaused: true }),
    ]);
    await reading.until(({ event }) => event === "log");
    await own.server.close();
    await reading.closed();
    stalled.close();
  });
});

it.runIf(inject("engine") === "postgres")("streams what another server writes", async () => {
  const database = openDatabase(api.address);
  const other = await startApiOn({ address: api.address, database, drop: () => database.close() });
  const stream = await openStream(other, run.id, { token: member.token });
  await stream.until(({ event }) => event === "run");
  await appendToLog(api, run.plan.id, 0, "by the first\n");
  await stream.until(() => stream.text() === "by the first\n");
  stream.close();
  await other.stop();
});
