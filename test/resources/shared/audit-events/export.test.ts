/**
 * GET /organizations/:organization_name/audit-events as text/csv: the whole log, streamed in chunks. How
 * exports are limited: fairness to other requests, concurrency, the loss of access, and shutdown.
 */
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Api, type Json, startApi, startApiOn, useApi } from "../../../support/api.ts";
import { data, type Org, resource } from "../../../support/builders.ts";
import { deep } from "../../../support/depth.ts";
import { parseCsv } from "../../../support/csv.ts";
import { maxStatementsPerTurn } from "../../../support/event-loop.ts";
import { until } from "../../../support/waiting.ts";
import { askForTable, fill } from "./exporting.ts";

const csv = { accept: "text/csv" };

describe("export", () => {
  const api = useApi();
  const path = ({ name }: Org) => `/organizations/${name}/audit-events`;
  const rowsIn = ({ body }: Answer) => parseCsv(String(body));

  describe("listAuditEvents as text/csv", () => {
    let org: Org;
    beforeAll(async () => {
      org = await api.makeOrganization();
    });

    it("has every column, names, facts as JSON, and cells that no spreadsheet takes for a formula", async () => {
      const team = await api.makeTeam(org.name, { name: "on-call" });
      const project = await api.makeProject(org.name, { name: "Payments", description: 'a "b",\r\nc' });
      const record = await api.makeTeamProject(project.id, team.id, { access: "write" });
      data(
        await org.owner.post(
          `/organizations/${org.name}/ssh-keys`,
          resource("ssh-keys", { name: "=1+1", value: "hunter2" }),
        ),
      );
      const answer = await org.owner.get(path(org), csv);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
      expect(answer.headers.get("content-disposition")).toMatch(
        new RegExp(`^attachment; filename="audit-${org.name}-\\d{4}-\\d\\d-\\d\\d\\.csv"$`),
      );
      const rows = rowsIn(answer);
      const events = data(await org.owner.get(`${path(org)}?page[size]=100`));
      expect(rows.map(({ id }) => id)).toEqual(events.map(({ id }: Json) => id));
      const json = new Set(["before", "after", "related"]);
      for (const [at, { id, attributes }] of events.entries())
        expect(rows[at]).toEqual({
          id,
          ...Object.fromEntries(
            Object.entries(attributes).map(([name, value]) => [
              name,
              value === null ? "" : json.has(name) ? expect.anything() : `${value as string}`.replace(/^=/, "'="),
            ]),
          ),
        });
      const granted = rows.find((row) => row["subject-id"] === record.id);
      expect(JSON.parse(granted?.["after"] ?? "")).toMatchObject({ access: "write", team: team.id });
      expect(JSON.parse(granted?.["related"] ?? "").map(({ name }: Json) => name)).toEqual(["on-call", "Payments"]);
      const made = rows.find((row) => row["subject-id"] === project.id);
      expect(JSON.parse(made?.["after"] ?? "").description).toBe('a "b",\r\nc');
      expect(rows.find((row) => row["action"] === "ssh-keys.create")?.["subject-name"]).toBe("'=1+1");
      expect(String(answer.body)).not.toContain("hunter2");
    });

    it("accepts the same filters, ignores the page, and refuses like the JSON list", async () => {
      const project = await api.makeProject(org.name);
      const own = await org.owner.get(`${path(org)}?filter[subject][id]=${project.id}&page[size]=1`, csv);
      expect(rowsIn(own).map(({ action }) => action)).toEqual(["projects.create"]);
      expect(rowsIn(await org.owner.get(`${path(org)}?filter[until]=2019-01-01T00:00:00Z`, csv))).toEqual([]);
      expect((await org.owner.get(`${path(org)}?filter[since]=yesterday`, csv)).status).toBe(400);
      expect(rowsIn(await (await api.makeOrganizationToken(org.name)).get(path(org), csv)).length).toBeGreaterThan(3);
      for (const [caller, status] of [
        [api.nobody, 401],
        [await api.makeUser(), 404],
        [await api.makeMember(org.name), 403],
      ] as const) {
        const refused = await caller.get(path(org), csv);
        expect([refused.status, refused.headers.get("content-type")]).toEqual([status, "application/vnd.api+json"]);
      }
    });

    it.each([
      "*/*",
      "application/vnd.api+json, text/csv",
      "text/csv;q=0.5, application/json;q=0.5",
      "text/csv;q=0",
      "text/*",
    ])("stays a document for Accept: %s", async (accept) => {
      expect(data(await org.owner.get(path(org), { accept })).length).toBeGreaterThan(1);
    });

    it("thousands of events, each once and in order, in few statements", async () => {
      const { id, ...large } = await api.makeOrganization();
      const count = deep(2300, 200_000);
      const ids = await fill(api, id, count, (number) => JSON.stringify({ number }));
      const address = `${path({ id, ...large })}?filter[action]=things.do`;
      await large.owner.get(`${address}&page[size]=1`);
      const before = api.database.statementCount();
      const rows = rowsIn(await large.owner.get(address, csv));
      // The organization, each chunk with the names in it, the last one that finds nothing, and the token where it is not known from before;
      // where it takes long, the token and the organization again.
      expect(api.database.statementCount() - before).toBeLessThanOrEqual(3 + 5 * Math.ceil(count / 200));
      expect(new Set(rows.map((row) => row["id"]))).toEqual(new Set(ids));
      const order = rows.map((row) => `${row["created-at"]} ${row["id"]}`);
      expect(order).toEqual(order.toSorted().toReversed());
    });
  });

  describe("listAuditEvents as text/csv, to slow readers", () => {
    let org: Org;
    let address = "";
    /** Far more than the buffers between server and client hold. */
    const count = deep(600, 5000);
    beforeAll(async () => {
      org = await api.makeOrganization();
      await fill(api, org.id, count, (number) => JSON.stringify({ number, text: "x".repeat(100_000) }));
      address = `${path(org)}?filter[action]=things.do`;
      await org.owner.get(`${address}&page[size]=1`);
    });

    const ask = () => askForTable(api, org.owner.token, address);

    /** Statements until none is added any more. */
    async function restingCount(): Promise<number> {
      let [last, same] = [-1, 0];
      await until(async () => {
        const now = api.database.statementCount();
        same = now === last ? same + 1 : 0;
        last = now;
        return same >= 20;
      });
      return last;
    }

    it("reads the next chunk when the client has taken the previous one, and ends when it disconnects", async () => {
      const before = api.database.statementCount();
      const response = await ask();
      const waiting = await restingCount();
      // All of it is more than 14 chunks of 4 MiB, with three statements each.
      expect(waiting - before).toBeLessThan(20);
      response.destroy();
      await restingCount();
      expect(api.database.statementCount() - before).toBeLessThan(24);
    });

    it("closes the connection on a fault, so that nobody takes a part for the whole", async () => {
      await fill(api, org.id, 1, () => "{");
      const response = await ask();
      let bytes = 0;
      const read = (async () => {
        for await (const chunk of response) bytes += (chunk as Buffer).length;
      })();
      await expect(read).rejects.toThrow();
      expect(response.complete).toBe(false);
      expect(bytes).toBeGreaterThan(0);
    });
  });
});

describe("an export of the audit log", () => {
  let api: Api;
  let large: Org;
  const path = ({ name }: Org) => `/organizations/${name}/audit-events?filter[action]=things.do`;
  const ask = (org: Org, token = org.owner.token) => askForTable(api, token, path(org));
  /** More than the buffers between server and client hold. */
  const [count, factBytes] = [500, 100_000];

  beforeAll(async () => {
    // Access is checked between any two chunks.
    api = await startApi({ options: { streams: { checkMs: 0 } } });
    large = await api.makeOrganization();
    await fill(api, large.id, count, (number) => JSON.stringify({ number, text: "x".repeat(factBytes) }));
  });
  afterAll(() => api.stop());

  /** The number of bytes that arrive, and whether the export is complete. */
  async function rest(response: IncomingMessage): Promise<{ bytes: number; isWhole: boolean }> {
    let bytes = 0;
    try {
      for await (const piece of response) bytes += (piece as Buffer).length;
    } catch {
      // The server closed the connection.
    }
    return { bytes, isWhole: response.complete };
  }

  /** Slots become free soon after connections are closed. */
  async function free(org: Org): Promise<void> {
    await until(async () => {
      const opened = await Promise.all([ask(org), ask(org)]);
      for (const response of opened) response.destroy();
      return opened.every(({ statusCode }) => statusCode === 200);
    });
  }

  it("yields to other requests between chunks", async () => {
    const org = await api.makeOrganization();
    await fill(api, org.id, 8000, (number) => JSON.stringify({ number }));
    const most = await maxStatementsPerTurn(api.database, async () => {
      expect((await org.owner.get(path(org), csv)).status).toBe(200);
    });
    // 40 chunks, each with the names in it and the check of access; the first also with what a request needs.
    expect(most).toBeLessThanOrEqual(12);
  });

  it("is not built for HEAD requests", async () => {
    await large.owner.get(path(large));
    for (let asked = 0; asked < 6; asked += 1) {
      const before = api.database.statementCount();
      const { status, headers } = await large.owner.send("HEAD", path(large), undefined, csv);
      expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8; header=present"]);
      expect(api.database.statementCount() - before).toBeLessThanOrEqual(2);
    }
  });

  it("429 for the third of an organization and the fifth of a server; closing one frees its slot", async () => {
    const [second, third] = [await api.makeOrganization(), await api.makeOrganization()];
    for (const { id } of [second, third])
      await fill(api, id, 100, (number) => JSON.stringify({ number, text: "x".repeat(factBytes) }));
    const sentence =
      "Too many CSV exports are running: the limit is 2 per organization and 4 per server. Try again when one of them has finished.";
    const open = [await ask(large), await ask(large, api.admin.token)];
    const beyond = await large.owner.get(path(large), csv);
    expect([beyond.status, beyond.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(beyond.body.errors[0].detail).toBe(sentence);
    // Exports of reach use the same slots; documents need none.
    const team = await api.makeTeam(large.name);
    expect((await large.owner.get(`/teams/${team.id}/reach`, csv)).status).toBe(429);
    expect((await large.owner.get(`/teams/${team.id}/reach`)).status).toBe(200);
    open.push(await ask(second), await ask(second));
    expect(open.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    expect((await third.owner.get(path(third), csv)).body.errors[0].detail).toBe(sentence);
    for (const response of open) response.destroy();
    await free(large);
    await free(third);
  });

  it("ends when its token is revoked", async () => {
    const response = await ask(large);
    expect(response.statusCode).toBe(200);
    for (const { id } of data(await api.admin.get(`/users/${large.owner.id}/authentication-tokens`)))
      expect((await api.admin.delete(`/authentication-tokens/${id}`)).status).toBe(204);
    const { bytes, isWhole } = await rest(response);
    expect(isWhole).toBe(false);
    expect(bytes).toBeLessThan((count * factBytes) / 2);
  });

  it("does not delay shutdown, even if its reader takes nothing", async () => {
    const own = await startApiOn({ address: api.address, database: api.database, drop: async () => {} });
    const response = await askForTable(own, api.admin.token, path(large));
    expect(response.statusCode).toBe(200);
    await own.server.close();
    expect((await rest(response)).isWhole).toBe(false);
  });
});
