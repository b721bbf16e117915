/** Servers on one register whose machines' clocks are an hour apart: expiry happens at the same time on all of them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Caller, callerOn } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import { pendingStateAttributes, put, stateOf } from "../support/states.ts";
import { dropRegistersAfterwards, fixture, newRegister, type Service, startService, stopService } from "./support.ts";

dropRegistersAfterwards();

const adminToken = "the-admin-of-many-clocks";
const organization = "acme";
const wrongBySeconds = [0, 3_600, -3_600];
let services: Service[];
let right: Caller;
let ahead: Caller;
let back: Caller;

beforeAll(async () => {
  const register = await newRegister("postgres");
  const start = (wrongBy: number) =>
    startService({
      ...register,
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_LOG_LEVEL: "fatal",
      NODE_OPTIONS: `--import ${fixture("wrong-clock.mjs")}`,
      WRONG_BY_SECONDS: String(wrongBy),
    });
  services = [];
  for (const wrongBy of wrongBySeconds) services.push(await start(wrongBy));
  [right, ahead, back] = services.map(({ url }) => callerOn(url, adminToken)) as [Caller, Caller, Caller];
  data(await right.post("/organizations", resource("organizations", { name: organization, email: "a@example.com" })));
});
afterAll(async () => {
  for (const service of services) await stopService(service);
});

async function workspace(): Promise<string> {
  const path = `/organizations/${organization}/workspaces`;
  return data(await right.post(path, resource("workspaces", { name: unique("ws") }))).id;
}

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();

describe("servers with wrong clocks", () => {
  test("respect a lock lease from another server", async () => {
    const id = await workspace();
    data(await right.post(`/workspaces/${id}/actions/lock`, { "lease-seconds": 600 }));
    for (const each of [ahead, back]) {
      expect((await each.post(`/workspaces/${id}/actions/lock`)).status).toBe(409);
      expect(data(await each.get(`/workspaces/${id}`)).attributes.locked).toBe(true);
    }
  });

  test("grant leases that end at the same time on the others", async () => {
    for (const each of [ahead, back]) {
      const id = await workspace();
      const { attributes } = data(await each.post(`/workspaces/${id}/actions/lock`, { "lease-seconds": 600 }));
      const leftMs = Date.parse(attributes["lock-expires-at"]) - Date.now();
      expect(Math.abs(leftMs - 600_000)).toBeLessThan(60_000);
      expect(data(await right.get(`/workspaces/${id}`)).attributes.locked).toBe(true);
    }
  });

  test("accept a token until it expires, and not afterwards", async () => {
    const user = data(
      await right.post(
        "/admin/users",
        resource("users", { username: unique("user"), email: `${unique("u")}@example.com` }),
      ),
    );
    const tokens = `/users/${user.id}/authentication-tokens`;
    const made = async (by: Caller, expiredAt: string) =>
      data(await by.post(tokens, resource("authentication-tokens", { "expired-at": expiredAt }))).attributes.token;
    const token = await made(right, inMinutes(10));
    for (const { url } of services) expect((await callerOn(url, token).get("/account/details")).status).toBe(200);
  });

  test("accept uploads to a URL that another server has signed", async () => {
    const id = await workspace();
    data(await right.post(`/workspaces/${id}/actions/lock`));
    for (const [serial, [signer, taker]] of [
      [back, ahead],
      [ahead, back],
    ].entries()) {
      const state = stateOf({ serial: serial + 1 });
      const made = await (signer as Caller).post(
        `/workspaces/${id}/state-versions`,
        resource("state-versions", pendingStateAttributes(state)),
      );
      const { pathname, search } = new URL(data(made).attributes["hosted-state-upload-url"]);
      const takerUrl = services[taker === ahead ? 1 : 2]?.url;
      expect((await put(`${takerUrl}${pathname}${search}`, state)).status).toBe(204);
    }
  });

  test("write the same time into the audit log", async () => {
    for (const each of [ahead, back]) {
      const name = unique("ws");
      const made = data(await each.post(`/organizations/${organization}/workspaces`, resource("workspaces", { name })));
      expect(Math.abs(Date.parse(made.attributes["created-at"]) - Date.now())).toBeLessThan(60_000);
    }
  });
});
