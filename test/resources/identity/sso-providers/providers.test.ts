/** Managing SSO providers, the options of a sign-in page, and signing out at a provider. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeUser, pointers, resource, unique } from "../../../support/builders.ts";
import {
  type FakeProvider,
  makeProvider,
  privateAddresses,
  signIn,
  startFakeProvider,
} from "../../../support/identity-provider.ts";

const api = useApi({ options: { privateAddresses } });
let idp: FakeProvider;
beforeAll(async () => {
  idp = await startFakeProvider({ metadata: { end_session_endpoint: "https://sso.example/logout" } });
});
afterAll(() => void idp.http.close());

const path = "/admin/sso-providers";
const body = (attributes: object = {}, relationships?: object) =>
  resource(
    "sso-providers",
    {
      name: unique("sso"),
      issuer: "https://accounts.acme.example",
      "client-id": "cadastre",
      "client-secret": "hush, this is a secret",
      ...attributes,
    },
    relationships,
  );
const change = (attributes: object) => resource("sso-providers", attributes);

describe("createSsoProvider", () => {
  it("201: with defaults; the secret is never shown", async () => {
    const name = unique("Acme SSO");
    const answer = await api.admin.post(path, body({ name }));
    const provider = data(answer);
    expect(provider).toMatchObject({
      type: "sso-providers",
      attributes: {
        name,
        issuer: "https://accounts.acme.example",
        "client-id": "cadastre",
        scopes: "openid email profile",
        "groups-claim": null,
        "create-users": false,
        "assume-email-verified": false,
        organization: null,
      },
      relationships: { organization: { data: null } },
      links: {
        self: `/api/v2${path}/${provider.id}`,
        "sign-in": `/app/sign-in/sso/${provider.id}`,
        callback: "/app/sign-in/sso/callback",
      },
    });
    const row = await api.database.reader.db
      .selectFrom("ssoProviders")
      .select("clientSecret")
      .where("id", "=", provider.id)
      .executeTakeFirstOrThrow();
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", provider.id)
      .execute();
    expect(Buffer.from(row.clientSecret).toString("latin1")).not.toContain("hush");
    expect(JSON.stringify([answer.body, (await api.admin.get(`${path}/${provider.id}`)).body, events])).not.toContain(
      "hush",
    );
  });

  it("201: of an organization, by attribute or relationship, ignoring case", async () => {
    const org = await makeOrganization(api);
    const related = { organization: { data: { type: "organizations", id: org.name } } };
    for (const created of [
      data(await api.admin.post(path, body({ organization: org.name.toUpperCase() }))),
      data(await api.admin.post(path, body({}, related))),
      data(await api.admin.post(path, body({ organization: org.name }, related))),
    ]) {
      expect(created.attributes.organization).toBe(org.name);
      expect(created.relationships).toMatchObject(related);
    }
  });

  it("422: all faults with pointers; a taken name; an unknown organization", async () => {
    const faulty = {
      name: " a",
      issuer: "acme",
      "client-id": "",
      "client-secret": "",
      scopes: "email",
      "groups-claim": " ",
    };
    expect(pointers(await api.admin.post(path, body(faulty))).toSorted()).toEqual(
      Object.keys(faulty)
        .map((name) => `/data/attributes/${name}`)
        .toSorted(),
    );
    const { name } = (await makeProvider(api, idp.url)).attributes;
    const unknown = body({ name: name.toUpperCase(), organization: "nowhere" });
    expect(pointers(await api.admin.post(path, unknown)).toSorted()).toEqual([
      "/data/attributes/name",
      "/data/attributes/organization",
    ]);
    const [one, two] = [await makeOrganization(api), await makeOrganization(api)];
    const both = body({ organization: one.name }, { organization: { data: { type: "organizations", id: two.name } } });
    expect(pointers(await api.admin.post(path, both))).toEqual(["/data/attributes/organization"]);
  });

  it("404: for everybody but site admins", async () => {
    const org = await makeOrganization(api);
    expect((await org.owner.post(path, body({ organization: org.name }))).status).toBe(404);
    expect((await org.owner.get(path)).status).toBe(404);
  });
});

describe("updateSsoProvider", () => {
  const values: [string, unknown][] = [
    ["name", unique("renamed")],
    ["issuer", "https://other.example"],
    ["client-id", "another"],
    ["scopes", "openid groups"],
    ["groups-claim", "roles"],
    ["create-users", true],
    ["assume-email-verified", true],
  ];

  it.each(values)("200: changes only %s", async (name, value) => {
    const { id, attributes } = await makeProvider(api, idp.url);
    const changed = data(await api.admin.patch(`${path}/${id}`, change({ [name]: value }))).attributes;
    expect(changed).toEqual({ ...attributes, [name]: value });
    expect(data(await api.admin.patch(`${path}/${id}`, change({}))).attributes).toEqual(changed);
  });

  it("null: only for groups-claim, which it clears", async () => {
    const { id } = await makeProvider(api, idp.url, { "groups-claim": "groups" });
    const shown = data(await api.admin.patch(`${path}/${id}`, change({ "groups-claim": null })));
    expect(shown.attributes["groups-claim"]).toBeNull();
    for (const name of ["name", "issuer", "client-id", "client-secret", "scopes", "create-users"])
      expect(pointers(await api.admin.patch(`${path}/${id}`, change({ [name]: null })))).toEqual([
        `/data/attributes/${name}`,
      ]);
  });

  it("200: a new secret is used from the next sign-in on, changes the version, and is recorded as replaced", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true, "client-secret": "a wrong one" });
    const overrides = { claims: { sub: unique("sub"), email: `${unique("x")}@acme.example`, email_verified: true } };
    expect((await signIn(api, idp, id, overrides)).status).toBe(401);
    const before = (await api.admin.get(`${path}/${id}`)).headers.get("etag");
    const answer = await api.admin.patch(`${path}/${id}`, change({ "client-secret": "a secret of the provider's" }));
    expect(answer.headers.get("etag")).not.toBe(before);
    expect((await signIn(api, idp, id, overrides)).status).toBe(302);
    const stale = { "if-match": before ?? "" };
    expect((await api.admin.patch(`${path}/${id}`, change({ name: unique("x") }), stale)).status).toBe(412);
    const { after } = await api.database.reader.db
      .selectFrom("auditEvents")
      .select("after")
      .where("subjectId", "=", id)
      .where("action", "=", "sso-providers.update")
      .executeTakeFirstOrThrow();
    expect(JSON.parse(after ?? "")).toMatchObject({ "replaced-secrets": ["client-secret"] });
  });
});

describe("showSignInOptions", () => {
  it("200: for anyone: the site's providers and those of the named organization, without other attributes", async () => {
    const [org, other] = [await makeOrganization(api), await makeOrganization(api)];
    const site = await makeProvider(api, idp.url);
    const [mine, theirs] = [
      await makeProvider(api, idp.url, { organization: org.name }),
      await makeProvider(api, idp.url, { organization: other.name }),
    ];
    const ask = async (query = "") => data(await api.nobody.get(`/sign-in-options${query}`)).attributes;
    const plain = await ask();
    expect(plain).toMatchObject({ password: true, token: true });
    const { id, attributes } = site;
    expect(plain.providers).toContainEqual({ id, name: attributes.name, url: `/app/sign-in/sso/${id}` });
    const idsOf = ({ providers }: { providers: { id: string }[] }) => providers.map((each) => each.id);
    expect(idsOf(plain)).not.toContain(mine.id);
    const named = idsOf(await ask(`?filter[organization]=${org.name.toUpperCase()}`));
    expect([named.includes(site.id), named.includes(mine.id), named.includes(theirs.id)]).toEqual([true, true, false]);
    expect(idsOf(await ask("?filter[organization]=nowhere"))).toEqual(idsOf(plain));
  });
});

describe("signing out", () => {
  const enter = async () => {
    const { id } = await makeProvider(api, idp.url);
    const { email } = await makeUser(api);
    const result = await signIn(api, idp, id, { claims: { sub: unique("sub"), email, email_verified: true } });
    const headers = { cookie: result.cookie ?? "", origin: api.url, "content-type": "application/vnd.api+json" };
    const [session] = data(await api.nobody.get("/sessions", { cookie: headers.cookie }));
    return { headers, session };
  };

  it("200: ends the session and returns the provider's sign-out URL", async () => {
    const { headers, session } = await enter();
    expect(session.attributes).not.toHaveProperty("sign-out-url");
    const answer = await api.nobody.send("DELETE", `/sessions/${session.id}`, undefined, headers);
    expect(answer.status).toBe(200);
    const url = new URL(data(answer).attributes["sign-out-url"]);
    expect(`${url.origin}${url.pathname}`).toBe("https://sso.example/logout");
    expect(url.searchParams.get("post_logout_redirect_uri")).toBe(`${api.url}/app/sign-in`);
    expect(url.searchParams.get("id_token_hint")?.split(".")).toHaveLength(3);
    expect((await api.nobody.get("/account/details", { cookie: headers.cookie })).status).toBe(401);
  });

  it("200: ends all sessions; 204 for a session without a provider", async () => {
    const { headers } = await enter();
    const everywhere = await api.nobody.send("DELETE", "/sessions", undefined, headers);
    expect(data(everywhere).attributes["sign-out-url"]).toContain("https://sso.example/logout");
    const user = await makeUser(api);
    const plain = await api.nobody.post("/sessions", resource("sessions", { token: user.token }));
    expect((await user.delete(`/sessions/${data(plain).id}`)).status).toBe(204);
  });
});
