/** Guessing passwords: the number of attempts is limited, however they are sent. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { secretInUrl } from "../../../support/browser.ts";
import { data, details, makeUser, resource, unique } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";

const api = useApi({
  nameFailures: { burst: 3, perSecond: 0.001 },
  nameFailuresEverywhere: { burst: 8, perSecond: 0.001 },
  failures: { burst: 5, perSecond: 0.001 },
  trustedProxies: ["127.0.0.1"],
});
const password = "correct horse battery staple";

let addresses = 0;
/** An address without failed attempts. */
const newAddress = () => `203.0.113.${(addresses += 1)}`;
const from = (address: string) => ({ "x-forwarded-for": address });
const signIn = (attributes: object, address: string) =>
  api.nobody.post("/sessions", resource("sessions", attributes), from(address));
const guess = (username: string, address: string) => signIn({ username, password: "x" }, address);
const statuses = async (answers: Promise<{ status: number }>[]) =>
  (await Promise.all(answers)).map(({ status }) => status).toSorted();

async function withPassword() {
  const user = await makeUser(api);
  data(await api.admin.patch(`/admin/users/${user.id}`, resource("users", { password })));
  return user;
}

describe("guesses", () => {
  it("429: after a few failures for one name, and from one address; other requests don't count", async () => {
    const address = newAddress();
    for (let times = 0; times < 10; times += 1)
      expect((await api.nobody.get("/account/details", from(address))).status).toBe(401);
    for (let times = 0; times < 3; times += 1) expect((await guess("Ada", address)).status).toBe(401);
    const answer = await guess("ADA", address);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(details(answer)[0]).toContain("for this user name");
    expect([(await guess("bob", address)).status, (await guess("eve", address)).status]).toEqual([401, 401]);
    expect(details(await guess("mallory", address))[0]).toContain("from this address");
    // A token that was never used from this address is delayed, too.
    const unused = await makeUser(api);
    expect((await unused.get("/account/details", from(address))).status).toBe(429);
  });

  it("429: concurrent requests don't get more attempts", async () => {
    const [name, address] = [unique("grace"), newAddress()];
    const many = Array.from({ length: 8 }, () => guess(name, address));
    expect(await statuses(many)).toEqual([401, 401, 401, 429, 429, 429, 429, 429]);
    const others = Array.from({ length: 4 }, () => guess(unique("somebody"), address));
    expect(await statuses(others)).toEqual([401, 401, 429, 429]);
  });

  it("correct passwords don't count", async () => {
    const [ada, address] = [await withPassword(), newAddress()];
    for (let times = 0; times < 5; times += 1)
      expect((await signIn({ username: ada.username, password }, address)).status).toBe(201);
    expect((await guess(ada.username, address)).status).toBe(401);
  });

  it("429: changing the password doesn't allow more attempts", async () => {
    const [ada, address] = [await withPassword(), newAddress()];
    const change = (current: string) => {
      const next = "another horse battery staple";
      const attributes = { current_password: current, password: next, password_confirmation: next };
      return ada.patch("/account/password", { data: { type: "users", attributes } }, from(address));
    };
    for (let times = 0; times < 3; times += 1) expect((await change("wrong")).status).toBe(422);
    expect((await change(password)).status).toBe(429);
  });
});

describe("guesses by others", () => {
  it("201: guesses from one address don't lock out users at another", async () => {
    const [ada, attacker] = [await withPassword(), newAddress()];
    for (let times = 0; times < 20; times += 1) await guess(ada.username, attacker);
    expect((await guess(ada.username, attacker)).status).toBe(429);
    expect((await signIn({ username: ada.username, password }, newAddress())).status).toBe(201);
  });

  it("429: guesses from many addresses block new addresses; the user's known address still has a few attempts", async () => {
    const [ada, knownAddress] = [await withPassword(), newAddress()];
    expect((await signIn({ username: ada.username, password }, knownAddress)).status).toBe(201);
    for (let times = 0; times < 8; times += 1) expect((await guess(ada.username, newAddress())).status).toBe(401);
    const refused = await signIn({ username: ada.username, password }, newAddress());
    expect(refused.status).toBe(429);
    expect(details(refused)[0]).toContain("ask a site admin for a link");
    expect((await signIn({ username: ada.username, password }, knownAddress)).status).toBe(201);
    for (let times = 0; times < 3; times += 1) expect((await guess(ada.username, knownAddress)).status).toBe(401);
    expect((await guess(ada.username, knownAddress)).status).toBe(429);
  });

  it("a site admin's link lets a locked-out user set a password and sign in, once", async () => {
    const ada = await withPassword();
    for (let times = 0; times < 9; times += 1) await guess(ada.username, newAddress());
    expect((await signIn({ username: ada.username, password }, newAddress())).status).toBe(429);
    const link = data(await api.admin.post(`/admin/users/${ada.id}/invitation`));
    const path = `/invitations/${secretInUrl(link.attributes["invitation-url"])}`;
    expect(data(await api.nobody.get(path)).attributes).toMatchObject({
      username: ada.username,
      "has-password": false,
    });
    const next = "another horse battery staple";
    const register = resource("invitations", { password: next });
    const [knownAddress, otherAddress] = [newAddress(), newAddress()];
    expect((await api.nobody.post(`${path}/actions/register`, register, from(knownAddress))).status).toBe(201);
    expect((await api.nobody.post(`${path}/actions/register`, register, from(otherAddress))).status).toBe(404);
    expect((await signIn({ username: ada.username, password: next }, knownAddress)).status).toBe(201);
    expect((await signIn({ username: ada.username, password }, knownAddress)).status).toBe(401);
  });

  it("404: a link stops working when a password is set after its creation", async () => {
    const ada = await withPassword();
    const link = data(await api.admin.post(`/admin/users/${ada.id}/invitation`));
    data(await api.admin.patch(`/admin/users/${ada.id}`, resource("users", { password: "a third horse battery" })));
    const path = `/invitations/${secretInUrl(link.attributes["invitation-url"])}/actions/register`;
    expect((await api.nobody.post(path, resource("invitations", { password }), from(newAddress()))).status).toBe(404);
  });
});

describeOnce("whose guesses are one's own", () => {
  it("wrong tokens don't block other users' tokens", async () => {
    const address = newAddress();
    for (let times = 0; times < 4; times += 1)
      expect((await signIn({ token: `wrong-${times}` }, address)).status).toBe(401);
    const { token } = await makeUser(api);
    expect((await signIn({ token }, newAddress())).status).toBe(201);
  });

  it("all addresses of an IPv6 network count as one", async () => {
    const network = "2001:db8:1:2";
    const hosts = [":3:4:5:6", "::a", "::b:c", ":ffff::", ":0:0:0:1"];
    for (const host of hosts) expect((await guess(unique("name"), `${network}${host}`)).status).toBe(401);
    expect((await guess(unique("name"), `${network}::d`)).status).toBe(429);
    expect((await guess(unique("name"), "2001:db8:1:3::d")).status).toBe(401);
    expect((await guess(unique("name"), "2001:db8::2:0:0:d")).status).toBe(401);
  });
});
