/** OAuth clients over HTTP: creation, update and deletion, what is refused, and that secrets are never returned. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { providerNames } from "../../../../src/resources/connections/oauth-clients/providers.ts";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";
import {
  connect,
  connectionOf,
  disconnected,
  github,
  makeClient,
  opened,
  pem,
  tokenIdOf,
  tokenString,
} from "./builders.ts";

const api = useApi();
let org: Org;
let client: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  client = await makeClient(org, { name: "before", key: "key-before", "rsa-public-key": "public-before" });
});

const path = () => `/organizations/${org.name}/oauth-clients`;
/** A generated one is shown once: `vcs-events/receipt.test.ts`. */
const ownSecret = { "webhook-secret": "one-of-our-own-choice" };
const create = (attributes: object): Promise<Answer> =>
  org.owner.post(path(), resource("oauth-clients", { ...github, ...ownSecret, ...attributes }));
const at = () => `/oauth-clients/${client.id}`;
const shown = async () => data(await org.owner.get(at()));
const etag = async () => (await org.owner.get(at())).headers.get("etag") ?? "";
const update = (attributes: object) => org.owner.patch(at(), resource("oauth-clients", attributes));
const clientRow = (id: string = client.id) =>
  api.database.reader.db.selectFrom("oauthClients").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
const tokenRows = (id: string = client.id) =>
  api.database.reader.db.selectFrom("oauthTokens").selectAll().where("oauthClientId", "=", id).execute();

function expectRefused(answer: Answer, attribute: string, detail: string): void {
  expect(answer.status).toBe(422);
  expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
  expect(details(answer)).toEqual([detail]);
}

describe("createOauthClient", () => {
  it("responds with 201 and the document that show and list return, without secrets", async () => {
    const answer = await create({ name: "GitHub", key: "k", secret: "s", "organization-scoped": false });
    expect(answer.status).toBe(201);
    const { id, relationships } = answer.body.data;
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^oc-/),
      type: "oauth-clients",
      attributes: {
        name: "GitHub",
        "service-provider": "github",
        "service-provider-display-name": "GitHub",
        "api-url": "https://api.github.com",
        "http-url": "https://github.com",
        key: "k",
        "rsa-public-key": null,
        "organization-scoped": false,
        "callback-url": null,
        "connect-path": null,
        "created-at": expect.stringMatching(/Z$/),
      },
      relationships: {
        organization: {
          data: { id: org.name, type: "organizations" },
          links: { related: `/api/v2/organizations/${org.name}` },
        },
        "oauth-tokens": {
          data: [{ id: expect.stringMatching(/^ot-/), type: "oauth-tokens" }],
          links: { related: `/api/v2/oauth-clients/${id}/oauth-tokens` },
        },
        projects: { data: [] },
      },
      links: { self: `/api/v2/oauth-clients/${id}` },
    });
    expect(data(await org.owner.get(`/oauth-clients/${id}`))).toEqual(answer.body.data);
    expect(data(await org.owner.get(`${path()}?page[size]=100`))).toContainEqual(answer.body.data);
    const tokenId = relationships["oauth-tokens"].data[0].id;
    expect(data(await org.owner.get(`/oauth-tokens/${tokenId}`)).relationships["oauth-client"].data.id).toBe(id);
  });

  it("uses defaults for what was not sent, or null", async () => {
    const created = await makeClient(org, { name: null, key: null, secret: null, "rsa-public-key": null });
    expect(created.attributes).toMatchObject({
      name: null,
      key: null,
      "rsa-public-key": null,
      "organization-scoped": true,
    });
    expect((await clientRow(created.id)).secret).toBeNull();
  });

  it.each(Object.entries(providerNames))("takes the service provider %s and shows it as %s", async (provider, name) => {
    const { attributes } = await makeClient(org, { "service-provider": provider });
    expect(attributes).toMatchObject({ "service-provider": provider, "service-provider-display-name": name });
  });

  it("encrypts the secret and the token's string for their rows", async () => {
    const created = await makeClient(org, { secret: "secret-of-client" });
    const row = await clientRow(created.id);
    const [token] = await tokenRows(created.id);
    for (const bytes of [row.secret, token?.secret])
      expect(Buffer.from(bytes ?? []).toString("latin1")).not.toMatch(/secret-of-client|secret-token-string/);
    expect(opened(`oauth_clients/${created.id}/secret`, row.secret)).toBe("secret-of-client");
    expect(opened(`oauth_tokens/${token?.id}/secret`, token?.secret)).toBe(tokenString);
    expect(token?.sshKey).toBeNull();
    expect(() => opened(`oauth_tokens/${token?.id}/ssh_key`, token?.secret)).toThrow();
  });

  it("stores the private key of Azure DevOps Server with the token, encrypted", async () => {
    const created = await makeClient(org, { "service-provider": "ado_server", "private-key": pem });
    const [token] = await tokenRows(created.id);
    expect(Buffer.from(token?.sshKey ?? []).toString("latin1")).not.toContain("secret-pem");
    expect(opened(`oauth_tokens/${token?.id}/ssh_key`, token?.sshKey)).toBe(pem);
    expect(data(await org.owner.get(`/oauth-tokens/${token?.id}`)).attributes["has-ssh-key"]).toBe(true);
  });

  it.each(["bitbucket_data_center", "bitbucket_server", "bitbucket_server_legacy"])(
    "needs no token for %s, which is connected by keys",
    async (provider) => {
      const created = await makeClient(org, { "service-provider": provider, "oauth-token-string": undefined });
      expect(created.relationships["oauth-tokens"].data).toEqual([]);
    },
  );

  it("reads a blank name, key and token as null: clients send that for what they do not set", async () => {
    const blank = { "service-provider": "bitbucket_data_center", name: "", key: "", "oauth-token-string": "" };
    const created = await makeClient(org, blank);
    expect(created.attributes).toMatchObject({ name: null, key: null });
    expect(created.relationships["oauth-tokens"].data).toEqual([]);
  });

  const address = "must begin with http:// or https:// and contain no user name";
  it.each([
    ["oauth-token-string", undefined, "Oauth token string can't be blank"],
    ["oauth-token-string", "", "Oauth token string can't be blank"],
    ["oauth-token-string", null, "Oauth token string can't be blank"],
    ["oauth-token-string", 1, "Oauth token string must be a string"],
    ["oauth-token-string", "x".repeat(16_385), "Oauth token string is too long (maximum is 16384 characters)"],
    ["private-key", pem, "Private key can only be sent where the service provider is 'ado_server'"],
    ["private-key", "no key", "Private key is invalid: it must be a private key in PEM form"],
    ["service-provider", undefined, "Service provider can't be blank"],
    ["service-provider", "sourceforge", `Service provider must be one of: ${Object.keys(providerNames).join(", ")}`],
    ["api-url", undefined, "Api url can't be blank"],
    ["api-url", "", "Api url can't be blank"],
    ["api-url", "api.github.com", `Api url ${address}`],
    ["api-url", "https://ada:secret@example.com", `Api url ${address}`],
    ["http-url", undefined, "Http url can't be blank"],
    ["http-url", "ftp://github.com", `Http url ${address}`],
    ["name", " ", "Name can't be blank"],
    ["name", "x".repeat(256), "Name is too long (maximum is 255 characters)"],
    ["secret", "", "Secret can't be blank"],
    ["rsa-public-key", "", "Rsa public key can't be blank"],
    ["organization-scoped", "yes", "Organization scoped must be true or false"],
  ])("refuses the %s %#", async (attribute, value, detail) => {
    expectRefused(await create({ [attribute]: value }), attribute, detail);
  });

  it("refuses a private key without a token", async () => {
    const answer = await create({
      "service-provider": "ado_server",
      "private-key": pem,
      "oauth-token-string": undefined,
    });
    expect(pointers(answer)).toEqual(["/data/attributes/oauth-token-string", "/data/attributes/private-key"]);
  });

  it("creates nothing if the body is refused", async () => {
    const total = async () => (await org.owner.get(path())).body.meta.pagination["total-count"];
    const before = await total();
    await create({ "oauth-token-string": undefined });
    expect(await total()).toBe(before);
  });
});

describe("listOauthClients", () => {
  it("shows pages with the total, and the tokens if they are requested", async () => {
    const other = await api.makeOrganization();
    const created = [await makeClient(other), await makeClient(other), await makeClient(other)];
    const list = (query: string) => other.owner.get(`/organizations/${other.name}/oauth-clients${query}`);
    const first = await list("?page[size]=2");
    expect(first.body.data).toHaveLength(2);
    expect(first.body.meta.pagination).toMatchObject({ "total-count": 3, "total-pages": 2 });
    expect((await list("?page[number]=999")).body.data).toEqual([]);
    const all = await list("?include=oauth_tokens");
    expect(all.body.data.map((item: Json) => item.id).sort()).toEqual(created.map(({ id }) => id).sort());
    expect(all.body.included.map((item: Json) => item.id).sort()).toEqual(created.map(tokenIdOf).sort());
    expect((await list("?include=colours")).status).toBe(400);
    const shownOne = await other.owner.get(`/oauth-clients/${created[0].id}?include=oauth_tokens`);
    expect(shownOne.body.included).toEqual([data(await other.owner.get(`/oauth-tokens/${tokenIdOf(created[0])}`))]);
  });
});

describe("updateOauthClient: a value, null, absent", () => {
  it.each([
    ["name", "after"],
    ["key", "key-after"],
    ["rsa-public-key", "public-after"],
    ["organization-scoped", false],
  ])("%s: a value is set, and the rest stays", async (attribute, value) => {
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...client, attributes: { ...client.attributes, [attribute]: value } });
    expect(await shown()).toEqual(answer.body.data);
  });

  it.each(["name", "key", "rsa-public-key"])("%s: null clears it", async (attribute) => {
    const answer = await update({ [attribute]: null });
    expect(answer.body.data).toEqual({ ...client, attributes: { ...client.attributes, [attribute]: null } });
  });

  it.each(["name", "key"])("%s: blank is null", async (attribute) => {
    const answer = await update({ [attribute]: "" });
    expect(answer.body.data).toEqual({ ...client, attributes: { ...client.attributes, [attribute]: null } });
  });

  it.each([null, ""])("oauth-token-string: %j keeps the existing token, and is no change", async (none) => {
    const before = [await etag(), await tokenRows()];
    expect(data(await update({ "oauth-token-string": none }))).toEqual(client);
    expect([await etag(), await tokenRows()]).toEqual(before);
  });

  it.each([
    ["organization-scoped", null, "Organization scoped must be true or false"],
    ["oauth-token-string", 1, "Oauth token string must be a string"],
    ["secret", "", "Secret can't be blank"],
  ])("%s: %j is refused", async (attribute, value, detail) => {
    expectRefused(await update({ [attribute]: value }), attribute, detail);
    expect(await shown()).toEqual(client);
  });

  it.each([null, ""])("key: %j is refused if the provider is connected by keys", async (key) => {
    client = await makeClient(org, { "service-provider": "bitbucket_data_center", key: "its own" });
    expectRefused(
      await update({ key }),
      "key",
      "Key can't be blank, because this service provider is connected by keys",
    );
    expect(data(await update({ key: "another" })).attributes.key).toBe("another");
  });

  it("secret: a value is encrypted, null clears it, absent keeps it; the ETag changes each time", async () => {
    const owner = `oauth_clients/${client.id}/secret`;
    const tags = [await etag()];
    data(await update({ secret: "new-secret" }));
    tags.push(await etag());
    expect(opened(owner, (await clientRow()).secret)).toBe("new-secret");
    data(await update({ name: "other" }));
    tags.push(await etag());
    expect(opened(owner, (await clientRow()).secret)).toBe("new-secret");
    data(await update({ secret: null }));
    tags.push(await etag());
    expect((await clientRow()).secret).toBeNull();
    expect(new Set(tags).size).toBe(4);
  });

  it("oauth-token-string: a new one replaces the existing token under the same id", async () => {
    expect(data(await update({ "oauth-token-string": "another-token" }))).toEqual(client);
    const rows = await tokenRows();
    expect(rows.map(({ id }) => id)).toEqual([tokenIdOf(client)]);
    expect(opened(`oauth_tokens/${rows[0]?.id}/secret`, rows[0]?.secret)).toBe("another-token");
  });

  it("oauth-token-string: creates the token if there is none", async () => {
    client = await makeClient(org, { "service-provider": "bitbucket_server", "oauth-token-string": undefined });
    const changed = data(await update({ "oauth-token-string": tokenString }));
    expect(changed.relationships["oauth-tokens"].data).toHaveLength(1);
    expect(await shown()).toEqual(changed);
  });

  it("can't change the provider or its address", async () => {
    const before = await etag();
    const elsewhere = { "service-provider": "gitlab_hosted", "api-url": "https://evil.example", "private-key": pem };
    expect(data(await update({ ...elsewhere, "http-url": "https://evil.example" }))).toEqual(client);
    expect(await etag()).toBe(before);
  });

  it("increments the versions of its workspaces when its name changes, because they show it", async () => {
    const workspace = await api.makeWorkspace(org.name);
    await connect(api, workspace.id, tokenIdOf(client));
    const { version } = await connectionOf(api, workspace.id);
    await update({ key: "unseen" });
    expect((await connectionOf(api, workspace.id)).version).toBe(version);
    await update({ name: "seen" });
    expect((await connectionOf(api, workspace.id)).version).toBe(version + 1);
  });
});

describe("deleteOauthClient", () => {
  it("deletes its tokens, and disconnects its workspaces", async () => {
    const [workspace, other] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const kept = await makeClient(org);
    await connect(api, workspace.id, tokenIdOf(client));
    await connect(api, other.id, tokenIdOf(kept));
    const before = await connectionOf(api, workspace.id);
    const untouched = await connectionOf(api, other.id);
    expect((await org.owner.delete(at())).status).toBe(204);
    expect((await org.owner.get(at())).status).toBe(404);
    expect((await org.owner.get(`/oauth-tokens/${tokenIdOf(client)}`)).status).toBe(404);
    expect((await org.owner.delete(at())).status).toBe(404);
    expect(await connectionOf(api, workspace.id)).toEqual({ ...disconnected, version: before.version + 1 });
    expect(await connectionOf(api, other.id)).toEqual(untouched);
  });
});

describe("the audit log", () => {
  it("records each change and no secret", async () => {
    client = await makeClient(org, {
      "service-provider": "ado_server",
      secret: "secret-of-client",
      "private-key": pem,
    });
    await update({ name: "Told", secret: "secret-of-client-2", "oauth-token-string": "secret-token-string-2" });
    await org.owner.delete(at());
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
    const mine = events.filter((event: Json) => event.attributes["subject-id"] === client.id);
    expect(mine.map((event: Json) => event.attributes.action).sort()).toEqual([
      "oauth-clients.create",
      "oauth-clients.delete",
      "oauth-clients.update",
    ]);
    const changed = mine.find((event: Json) => event.attributes.action.endsWith("update")).attributes;
    expect(changed.before).toMatchObject({ name: null, "service-provider": "ado_server" });
    expect(changed.after).toMatchObject({ name: "Told", "replaced-secrets": ["secret", "oauth-token-string"] });
    expect(JSON.stringify(events)).not.toMatch(/secret-of-client|secret-token-string|secret-pem/);
  });
});
