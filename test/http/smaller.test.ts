/** Responses are compressed for the console only. */
import { beforeAll, describe, expect, it } from "vitest";
import { mediaType } from "../../src/http/respond.ts";
import { useApi } from "../support/api.ts";
import { makeOrganization, makeWorkspace, type Org, resource } from "../support/builders.ts";
import { stateOf, writeState } from "../support/states.ts";

const api = useApi();
let org: Org;
let cookie: string;
let list: string;
let states: string;

beforeAll(async () => {
  org = await makeOrganization(api);
  const signedIn = await api.nobody.post("/sessions", resource("sessions", { token: org.owner.token }));
  cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
  const [{ id }] = [await makeWorkspace(api, org.name), await makeWorkspace(api, org.name)];
  list = `/organizations/${org.name}/workspaces?include=project`;
  for (const serial of [1, 2, 3, 4, 5]) await writeState(org.owner, id, stateOf({ serial }));
  states = `/workspaces/${id}/state-versions`;
});

const small = { "content-type": mediaType, "accept-encoding": "gzip, deflate, br" };

/** Node's client decompresses the body; the length is that of the sent bytes. */
async function ask(path: string, headers: Record<string, string>) {
  const answer = await fetch(`${api.url}/api/v2${path}`, { headers });
  const text = await answer.text();
  return {
    status: answer.status,
    encoding: answer.headers.get("content-encoding"),
    vary: answer.headers.get("vary"),
    etag: answer.headers.get("etag"),
    sent: Number(answer.headers.get("content-length")),
    text,
  };
}

const asPage = (path: string, more: Record<string, string> = {}) => ask(path, { cookie, ...small, ...more });

describe("a page of the console", () => {
  it("gets a long response compressed, also from the cache", async () => {
    const plain = await asPage(list, { "accept-encoding": "identity" });
    expect([plain.status, plain.encoding]).toEqual([200, null]);
    for (const time of ["read", "kept", "kept"]) {
      const answer = await asPage(list);
      expect(answer, time).toMatchObject({ status: 200, encoding: "gzip", vary: "accept-encoding", text: plain.text });
      expect(answer.sent * 3).toBeLessThan(plain.sent);
    }
    expect((await asPage(list, { "accept-encoding": "identity" })).encoding).toBeNull();
  });

  it("sees a change immediately, with the new ETag", async () => {
    const [first] = (JSON.parse((await asPage(list)).text) as { data: { id: string }[] }).data;
    const path = `/workspaces/${first!.id}`;
    const shown = `${path}?include=organization,project`;
    const before = await asPage(shown);
    expect(before.encoding).toBe("gzip");
    const changed = await org.owner.patch(path, resource("workspaces", { description: "seen" }), {
      "if-match": before.etag!,
    });
    expect(changed.status).toBe(200);
    expect((await asPage(shown)).text).toContain('"description":"seen"');
    expect((await asPage(list)).text).toContain('"description":"seen"');
  });

  it("gets short responses and those with signed URLs uncompressed", async () => {
    expect(await asPage(`/organizations/${org.name}/entitlement-set`)).toMatchObject({ status: 200, encoding: null });
    const signed = await asPage(states);
    expect(signed).toMatchObject({ status: 200, encoding: null });
    expect(signed.sent).toBeGreaterThan(4096);
  });
});

describe("other requests get uncompressed responses", () => {
  const others: [string, () => Record<string, string>][] = [
    ["a program with a token", () => ({ authorization: `Bearer ${org.owner.token}`, ...small })],
    ["a token beside a cookie", () => ({ authorization: `Bearer ${org.owner.token}`, cookie, ...small })],
    ["a browser that navigates to the address", () => ({ cookie, "accept-encoding": "gzip" })],
    ["another page's form", () => ({ cookie, ...small, "content-type": "text/plain" })],
    ["a client that accepts another encoding", () => ({ cookie, ...small, "accept-encoding": "br" })],
    ["a client that refuses gzip", () => ({ cookie, ...small, "accept-encoding": "gzip;q=0, br" })],
  ];
  it.each(others)("%s", async (_, headers) => {
    await asPage(list);
    const answer = await ask(list, headers());
    expect(answer).toMatchObject({ status: 200, encoding: null, vary: null });
    expect(answer.sent).toBe(Buffer.byteLength(answer.text));
  });
});
