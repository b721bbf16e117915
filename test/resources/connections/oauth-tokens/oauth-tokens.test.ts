/** OAuth tokens over HTTP: lists, SSH keys, and deletion. Access is tested with the clients. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";
import { connect, connectionOf, disconnected, makeClient, opened, pem, tokenIdOf } from "../oauth-clients/builders.ts";

const api = useApi();
let org: Org;
let client: Json;
let token: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  client = await makeClient(org);
  token = data(await org.owner.get(`/oauth-tokens/${tokenIdOf(client)}`));
});

const at = () => `/oauth-tokens/${token.id}`;
const etag = async () => (await org.owner.get(at())).headers.get("etag") ?? "";
const update = (attributes: object): Promise<Answer> => org.owner.patch(at(), resource("oauth-tokens", attributes));
const row = () =>
  api.database.reader.db.selectFrom("oauthTokens").selectAll().where("id", "=", token.id).executeTakeFirstOrThrow();

describe("showOauthToken", () => {
  it("shows it without its secrets", () => {
    expect(token).toEqual({
      id: expect.stringMatching(/^ot-/),
      type: "oauth-tokens",
      attributes: {
        uid: "",
        "service-provider-user": "",
        "has-ssh-key": false,
        "created-at": expect.stringMatching(/Z$/),
      },
      relationships: {
        "oauth-client": {
          data: { id: client.id, type: "oauth-clients" },
          links: { related: `/api/v2/oauth-clients/${client.id}` },
        },
      },
      links: { self: `/api/v2/oauth-tokens/${token.id}` },
    });
  });
});

describe("listOauthTokens and listOauthClientTokens", () => {
  it("show an organization's and one client's, in pages with the total", async () => {
    const other = await api.makeOrganization();
    const created = [await makeClient(other), await makeClient(other), await makeClient(other)];
    const list = (query = "") => other.owner.get(`/organizations/${other.name}/oauth-tokens${query}`);
    const all = await list();
    expect(all.body.data.map((item: Json) => item.id).sort()).toEqual(created.map(tokenIdOf).sort());
    const page = await list("?page[size]=2&page[number]=2");
    expect(page.body.data).toHaveLength(1);
    expect(page.body.meta.pagination).toMatchObject({ "total-count": 3, "total-pages": 2 });
    expect((await list("?page[number]=999")).body.data).toEqual([]);
    const one = await other.owner.get(`/oauth-clients/${created[1].id}/oauth-tokens`);
    expect(one.body.data).toEqual([data(await other.owner.get(`/oauth-tokens/${tokenIdOf(created[1])}`))]);
    expect(one.body.meta.pagination["total-count"]).toBe(1);
  });
});

describe("updateOauthToken: a value, null, absent", () => {
  it("ssh-key: a value is encrypted, and only its existence is shown", async () => {
    const answer = await update({ "ssh-key": pem });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...token, attributes: { ...token.attributes, "has-ssh-key": true } });
    expect(data(await org.owner.get(at()))).toEqual(answer.body.data);
    const stored = await row();
    expect(Buffer.from(stored.sshKey ?? []).toString("latin1")).not.toContain("secret-pem");
    expect(opened(`oauth_tokens/${token.id}/ssh_key`, stored.sshKey)).toBe(pem);
  });

  it("ssh-key: takes an encrypted one", async () => {
    const encrypted = pem.replace("\nsecret", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nsecret");
    expect((await update({ "ssh-key": encrypted })).status).toBe(200);
  });

  it("ssh-key: null removes it", async () => {
    await update({ "ssh-key": pem });
    expect(data(await update({ "ssh-key": null }))).toEqual(token);
    expect((await row()).sshKey).toBeNull();
  });

  it.each([{}, { "ssh-key": undefined }, { uid: "mine" }, { "has-ssh-key": true }])(
    "%j: everything stays",
    async (sent) => {
      const before = await etag();
      const answer = await update(sent);
      expect(answer.body.data).toEqual(token);
      expect(answer.headers.get("etag")).toBe(before);
    },
  );

  it("nothing to remove: everything stays", async () => {
    const before = await etag();
    expect((await update({ "ssh-key": null })).headers.get("etag")).toBe(before);
  });

  it.each([
    ["no key", "Ssh key is invalid: it must be a private key in PEM form"],
    [
      "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----",
      "Ssh key is invalid: it must be a private key in PEM form",
    ],
    [`${pem}more`, "Ssh key is invalid: it must be a private key in PEM form"],
    ["", "Ssh key can't be blank"],
    [5, "Ssh key must be a string"],
  ])("refuses %j", async (value, detail) => {
    const answer = await update({ "ssh-key": value });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/ssh-key"]);
    expect(details(answer)).toEqual([detail]);
    expect((await row()).sshKey).toBeNull();
  });

  it("refuses one that is too long", async () => {
    const answer = await update({ "ssh-key": pem.replace("secret", "x".repeat(16_384)) });
    expect(details(answer)).toEqual(["Ssh key is too long (maximum is 16384 characters)"]);
  });
});

describe("deleteOauthToken", () => {
  it("removes it from its client, and disconnects its workspaces", async () => {
    const workspace = await api.makeWorkspace(org.name);
    await connect(api, workspace.id, token.id);
    const { version } = await connectionOf(api, workspace.id);
    const clientTag = async () => (await org.owner.get(`/oauth-clients/${client.id}`)).headers.get("etag");
    const before = await clientTag();
    expect((await org.owner.delete(at())).status).toBe(204);
    expect((await org.owner.get(at())).status).toBe(404);
    expect((await org.owner.delete(at())).status).toBe(404);
    expect(await connectionOf(api, workspace.id)).toEqual({ ...disconnected, version: version + 1 });
    const left = data(await org.owner.get(`/oauth-clients/${client.id}`));
    expect(left.relationships["oauth-tokens"].data).toEqual([]);
    expect(await clientTag()).not.toBe(before);
  });
});

describe("the audit log", () => {
  it("records each change and no secret", async () => {
    await update({ "ssh-key": pem });
    await org.owner.delete(at());
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
    const mine = events
      .map((event: Json) => event.attributes)
      .filter((event: Json) => event["subject-id"] === token.id);
    expect(mine.map((event: Json) => event.action).sort()).toEqual(["oauth-tokens.delete", "oauth-tokens.update"]);
    const changed = mine.find((event: Json) => event.action === "oauth-tokens.update");
    expect(changed.before).toMatchObject({ "has-ssh-key": false });
    expect(changed.after).toMatchObject({ "has-ssh-key": true, "replaced-secrets": ["ssh-key"] });
    expect(JSON.stringify(events)).not.toMatch(/secret-pem|secret-token-string/);
  });
});
