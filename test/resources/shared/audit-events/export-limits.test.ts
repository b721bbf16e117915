/** What keeps exports from being a burden: turns for others, few at once, the end of access, and a server that stops. */
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Api, startApi, startApiOn } from "../../../support/api.ts";
import { data, makeOrganization, makeTeam, type Org } from "../../../support/builders.ts";
import { mostStatementsInATurn } from "../../../support/turns.ts";
import { until } from "../../../support/waiting.ts";
import { askForTable, fill } from "./exporting.ts";

let api: Api;
let large: Org;
const csv = { accept: "text/csv" };
const path = ({ name }: Org) => `/organizations/${name}/audit-events?filter[action]=things.do`;
const ask = (org: Org, token = org.owner.token) => askForTable(api, token, path(org));
/** More than the buffers between server and client hold. */
const [count, factBytes] = [500, 100_000];

beforeAll(async () => {
  // Access is checked between any two chunks.
  api = await startApi({ options: { streams: { checkMs: 0 } } });
  large = await makeOrganization(api);
  await fill(api, large.id, count, (number) => JSON.stringify({ number, text: "x".repeat(factBytes) }));
});
afterAll(() => api.stop());

/** How much of an export arrives, and whether that is all of it. */
async function rest(response: IncomingMessage): Promise<{ bytes: number; isWhole: boolean }> {
  let bytes = 0;
  try {
    for await (const piece of response) bytes += (piece as Buffer).length;
  } catch {
    // It broke off.
  }
  return { bytes, isWhole: response.complete };
}

/** Places are free again soon after connections were closed. */
async function free(org: Org): Promise<void> {
  await until(async () => {
    const opened = await Promise.all([ask(org), ask(org)]);
    for (const response of opened) response.destroy();
    return opened.every(({ statusCode }) => statusCode === 200);
  });
}

describe("an export of the audit log", () => {
  it("leaves turns to others between its chunks", async () => {
    const org = await makeOrganization(api);
    await fill(api, org.id, 8000, (number) => JSON.stringify({ number }));
    const most = await mostStatementsInATurn(api.database, async () => {
      expect((await org.owner.get(path(org), csv)).status).toBe(200);
    });
    // 40 chunks, each with the names in it and the check of access; the first also with what a request needs.
    expect(most).toBeLessThanOrEqual(12);
  });

  it("is not made for HEAD, of which any number can be sent", async () => {
    await large.owner.get(path(large));
    for (let asked = 0; asked < 6; asked += 1) {
      const before = api.database.statementCount();
      const { status, headers } = await large.owner.send("HEAD", path(large), undefined, csv);
      expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8; header=present"]);
      expect(api.database.statementCount() - before).toBeLessThanOrEqual(2);
    }
  });

  it("429 for the third of an organization and the fifth of a server; one that was closed makes room", async () => {
    const [second, third] = [await makeOrganization(api), await makeOrganization(api)];
    for (const { id } of [second, third])
      await fill(api, id, 100, (number) => JSON.stringify({ number, text: "x".repeat(factBytes) }));
    const sentence =
      "Too many CSV exports are running: at most 2 for an organization and 4 on a server at a time. Try again when one of them has ended.";
    const open = [await ask(large), await ask(large, api.admin.token)];
    const beyond = await large.owner.get(path(large), csv);
    expect([beyond.status, beyond.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(beyond.body.errors[0].detail).toBe(sentence);
    // Reach is exported in the same places; documents need none.
    const team = await makeTeam(api, large.name);
    expect((await large.owner.get(`/teams/${team.id}/reach`, csv)).status).toBe(429);
    expect((await large.owner.get(`/teams/${team.id}/reach`)).status).toBe(200);
    open.push(await ask(second), await ask(second));
    expect(open.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    expect((await third.owner.get(path(third), csv)).body.errors[0].detail).toBe(sentence);
    for (const response of open) response.destroy();
    await free(large);
    await free(third);
  });

  it("breaks off once its token is revoked", async () => {
    const response = await ask(large);
    expect(response.statusCode).toBe(200);
    for (const { id } of data(await api.admin.get(`/users/${large.owner.id}/authentication-tokens`)))
      expect((await api.admin.delete(`/authentication-tokens/${id}`)).status).toBe(204);
    const { bytes, isWhole } = await rest(response);
    expect(isWhole).toBe(false);
    expect(bytes).toBeLessThan((count * factBytes) / 2);
  });

  it("does not hold up a server that stops, though its reader takes nothing", async () => {
    const own = await startApiOn({ address: api.address, database: api.database, drop: async () => {} });
    const response = await askForTable(own, api.admin.token, path(large));
    expect(response.statusCode).toBe(200);
    await own.server.close();
    expect((await rest(response)).isWhole).toBe(false);
  });
});
