/** Identity trusts, and the exchange of a pipeline's token. Uses a real issuer on the loopback address. */
import type { JWTPayload } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Api, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { ruleFor, whileRuled } from "../../governance/access-rules/support.ts";
import { exchangeToken, type Issuer, startIssuer } from "../../../support/pipelines.ts";

const api = useApi({ options: { privateAddresses: ["127.0.0.1"] } });

let issuer: Issuer;
let org: Org;
let teamId: string;
beforeAll(async () => {
  issuer = await startIssuer();
  org = await api.makeOrganization();
  teamId = (await api.makeTeam(org.name)).id;
});
afterAll(() => void issuer.http.close());

const path = () => `/organizations/${org.name}/identity-trusts`;
const body = (attributes: object = {}, team = teamId) =>
  resource(
    "identity-trusts",
    {
      name: unique("trust"),
      issuer: issuer.url,
      audience: "cadastre",
      claims: { repository: "acme/*", ref: "refs/heads/main" },
      "token-seconds": 600,
      ...attributes,
    },
    { team: { data: { type: "teams", id: team } } },
  );

/** The only trust of its organization, so that no other one matches. */
async function trusting(attributes: object = {}): Promise<{ org: Org; teamId: string; trust: any }> {
  const own = await api.makeOrganization();
  const team = await api.makeTeam(own.name);
  const trust = data(await own.owner.post(`/organizations/${own.name}/identity-trusts`, body(attributes, team.id)));
  return { org: own, teamId: team.id, trust };
}

const exchange = (organization: string, token: string, more: Record<string, string> = {}, on: Api = api) =>
  exchangeToken(on, organization, token, more);

describe("trusts", () => {
  it("are created, listed, shown, updated and deleted with manage-teams; each change records an event", async () => {
    const created = data(await org.owner.post(path(), body({ name: "deployments" })));
    expect(created).toMatchObject({
      type: "identity-trusts",
      attributes: {
        name: "deployments",
        issuer: issuer.url,
        audience: "cadastre",
        claims: { repository: "acme/*", ref: "refs/heads/main" },
        "token-seconds": 600,
      },
      relationships: { team: { data: { type: "teams", id: teamId } } },
    });
    const self = `/identity-trusts/${created.id}`;
    expect(data(await org.owner.get(self)).attributes).toEqual(created.attributes);
    expect(data(await org.owner.get(path())).map(({ id }: { id: string }) => id)).toContain(created.id);
    const changes = resource("identity-trusts", { claims: { sub: "repo:acme/?*" }, "token-seconds": 60 });
    expect(data(await org.owner.patch(self, changes)).attributes).toMatchObject({
      claims: { sub: "repo:acme/?*" },
      "token-seconds": 60,
      name: "deployments",
    });
    expect((await org.owner.delete(self)).status).toBe(204);
    expect((await org.owner.get(self)).status).toBe(404);
  });

  it("422: more than five hundred, together with a taken name", async () => {
    const { org: full, teamId: team, trust } = await trusting();
    await api.database.write(async ({ db }) => {
      const row = await db
        .selectFrom("identityTrusts")
        .selectAll()
        .where("id", "=", trust.id)
        .executeTakeFirstOrThrow();
      const others = Array.from({ length: 499 }, (_, number) => {
        const name = `copy-${number}`;
        return { ...row, id: `${row.id}${number}`, name, nameKey: name };
      });
      await db.insertInto("identityTrusts").values(others).execute();
    });
    const refused = await full.owner.post(
      `/organizations/${full.name}/identity-trusts`,
      body({ name: "COPY-1" }, team),
    );
    expect(refused.status).toBe(422);
    expect(details(refused)).toEqual([
      "Name has already been taken",
      "The organization has reached its limit of 500 identity trusts. Delete one first.",
    ]);
  });

  it("422: all faults with pointers", async () => {
    const answer = await org.owner.post(
      path(),
      body({ name: "a b", issuer: "github", audience: "", claims: {}, "token-seconds": 3601 }),
    );
    expect(pointers(answer).toSorted()).toEqual(
      ["name", "issuer", "audience", "claims", "token-seconds"].map((name) => `/data/attributes/${name}`).toSorted(),
    );
    const taken = body({ name: unique("Twice") });
    data(await org.owner.post(path(), taken));
    expect(pointers(await org.owner.post(path(), taken))).toEqual(["/data/attributes/name"]);
    expect(pointers(await org.owner.post(path(), body({}, "team-none")))).toEqual(["/data/relationships/team"]);
    const foreign = await api.makeTeam((await api.makeOrganization()).name);
    expect(pointers(await org.owner.post(path(), body({}, foreign.id)))).toEqual(["/data/relationships/team"]);
  });

  it("422: claims that every pipeline of the issuer has, however they are spelled", async () => {
    const everybody: Record<string, string>[] = [
      { sub: "*" },
      { sub: "**" },
      { sub: "*?" },
      { sub: "?*", repository: "???*" },
      { iss: issuer.url },
      { aud: "cadastre" },
      { iss: "http*", aud: "*", exp: "1*", iat: "1*", nbf: "1*", jti: "*-*", sub: "*" },
    ];
    for (const claims of everybody) {
      const answer = await org.owner.post(path(), body({ claims }));
      expect([claims, answer.status, pointers(answer)]).toEqual([claims, 422, ["/data/attributes/claims"]]);
      expect(details(answer)[0]).toContain("every pipeline of the issuer");
    }
    const created = data(await org.owner.post(path(), body({ claims: { sub: "*", repository: "acme/*" } })));
    const changes = resource("identity-trusts", { claims: { sub: "*" } });
    expect((await org.owner.patch(`/identity-trusts/${created.id}`, changes)).status).toBe(422);
  });

  it("400: a stored trust whose claims every pipeline has is ignored", async () => {
    const own = await trusting();
    await api.database.write(({ db }) =>
      db
        .updateTable("identityTrusts")
        .set({ claims: JSON.stringify({ sub: "*", iss: issuer.url }) })
        .where("id", "=", own.trust.id)
        .execute(),
    );
    expect(await exchange(own.org.name, await issuer.token())).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  it("403: a member without manage-teams, and a team with more access than the caller", async () => {
    const member = await api.makeMember(org.name);
    expect((await member.post(path(), body())).status).toBe(403);
    expect((await member.get(path())).status).toBe(403);
    const manager = await api.makeHolder(org.name, "manage-teams");
    expect((await manager.post(path(), body())).status).toBe(201);
    const strong = await api.makeTeam(org.name, { "organization-access": { "manage-workspaces": true } });
    expect((await manager.post(path(), body({}, strong.id))).status).toBe(403);
    expect((await manager.post(path(), body({}, org.ownersTeamId))).status).toBeGreaterThanOrEqual(403);
  });
});

describe("the exchange", () => {
  it("400: too long claims and late items of a list don't match", async () => {
    const { org: own } = await trusting({ claims: { ref: "refs/*" } });
    const withRef = async (ref: unknown) => (await exchange(own.name, await issuer.token({ ref }))).status;
    expect(await withRef(`refs/${"a".repeat(1000)}`)).toBe(200);
    expect(await withRef(`refs/${"a".repeat(1100)}`)).toBe(400);
    const others = Array.from({ length: 256 }, () => "other");
    expect(await withRef([...others.slice(1), "refs/a"])).toBe(200);
    expect(await withRef([...others, "refs/a"])).toBe(400);
  });

  it("issues a short-lived team token, and records the pipeline in the audit log", async () => {
    const own = await trusting();
    const { status, body: answer } = await exchange(own.org.name, await issuer.token());
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      token_type: "Bearer",
      expires_in: 600,
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    });
    const account = await api.as(answer.access_token).get("/account/details");
    expect(data(account).attributes["is-service-account"]).toBe(true);
    expect(data(account).id).toBe(own.teamId);
    const [event] = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "after", "actorId"])
      .where("subjectId", "=", own.trust.id)
      .where("action", "=", "identity-trusts.exchange")
      .execute();
    expect(event?.actorId).toBe(own.teamId);
    expect(JSON.parse(event?.after ?? "{}").claims).toMatchObject({
      iss: issuer.url,
      sub: "repo:acme/network",
      repository: "acme/network",
    });
    expect(JSON.stringify(event)).not.toContain(answer.access_token);
  });

  it("rejects other claims, audiences, issuers, organizations, signatures and times", async () => {
    const { org: own } = await trusting();
    const other = await startIssuer();
    const forged = (await other.token()).split(".");
    const real = (await issuer.token()).split(".");
    const refused = [
      await issuer.token({ repository: "evil/network" }),
      await issuer.token({ ref: "refs/heads/side" }),
      await issuer.token({ ref: ["refs/heads/side"] } as JWTPayload),
      await issuer.token({ aud: "another" }),
      await other.token(),
      `${real[0]}.${real[1]}.${forged[2]}`,
      `${Buffer.from('{"alg":"none"}').toString("base64url")}.${real[1]}.`,
      await issuer.token({}, "-5m"),
    ];
    for (const token of refused)
      expect(await exchange(own.name, token)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    expect(await exchange(unique("nowhere"), await issuer.token())).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
    other.http.close();
  });

  it("doesn't reveal organizations and their trusts to made-up tokens", async () => {
    const { org: own } = await trusting();
    const [head, claims, signature] = (await issuer.token()).split(".");
    const forged = `${head}.${claims}.${signature?.split("").toReversed().join("")}`;
    const other = await startIssuer();
    other.http.close();
    const [trusted, nowhere, untrusted] = [
      await exchange(own.name, forged),
      await exchange(unique("nowhere"), forged),
      await exchange(own.name, await other.token()),
    ];
    expect(trusted).toEqual(nowhere);
    expect(trusted).toEqual(untrusted);
    const late = await issuer.token({}, "-5m");
    const expired = await exchange(own.name, late);
    expect(expired.body.error_description).toContain("has expired");
    expect(await exchange(unique("nowhere"), late)).toEqual(expired);
  });

  it("400: an issuer or organization that is not text", async () => {
    const unsigned = (payload: object) =>
      [{ alg: "RS256" }, payload].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    for (const iss of [true, 5, null, {}, ["https://a.example"], "https://a.example/\0", "\ud800"])
      expect(await exchange(org.name, `${unsigned({ iss })}.x`)).toMatchObject({
        status: 400,
        body: { error: "invalid_request" },
      });
    for (const name of ["organization", "trust"])
      expect(await exchange(org.name, await issuer.token(), { [name]: "a\0b" })).toMatchObject({
        status: 400,
        body: { error: "invalid_request" },
      });
  });

  it("requires a name if several trusts match", async () => {
    const own = await trusting({ name: "first" });
    data(
      await own.org.owner.post(`/organizations/${own.org.name}/identity-trusts`, body({ name: "second" }, own.teamId)),
    );
    const token = await issuer.token();
    const { status, body: answer } = await exchange(own.org.name, token);
    expect({ status, error: answer.error }).toEqual({ status: 400, error: "invalid_request" });
    expect(answer.error_description).toContain("first, second");
    expect((await exchange(own.org.name, token, { trust: "Second" })).status).toBe(200);
    expect((await exchange(own.org.name, token, { trust: "third" })).status).toBe(400);
  });

  it("fetches the keys again for a new key, but not for every made-up one", async () => {
    const changing = await startIssuer();
    const { org: own } = await trusting({ issuer: changing.url });
    expect((await exchange(own.name, await changing.token())).status).toBe(200);
    await changing.rotate();
    // Only after a while, so that made-up keys don't cause repeated requests to the issuer.
    expect((await exchange(own.name, await changing.token())).status).toBe(400);
    expect((await exchange(own.name, await changing.token())).status).toBe(400);
    expect(changing.keyRequests()).toBe(1);
    changing.http.close();
  });

  it("issues tokens no longer than the organization's TTL policy", async () => {
    const own = await trusting();
    await api.database.write((tx) =>
      tx.db.updateTable("organizations").set({ maxTtlEnabled: 1 }).where("id", "=", own.org.id).execute(),
    );
    await api.database.write((tx) =>
      tx.db
        .updateTable("organizationTokenTtlPolicies")
        .set({ maxTtlMs: 120_000 })
        .where("organizationId", "=", own.org.id)
        .where("tokenType", "=", "team")
        .execute(),
    );
    expect((await exchange(own.org.name, await issuer.token())).body.expires_in).toBe(120);
  });

  it("400: an access rule refuses the team's token, by when it expires; the organization is the rule's principal", async () => {
    const own = await trusting({ "token-seconds": 600 });
    const condition = `principal == Organization::"${own.org.name}" && context.expiresInSeconds > 300`;
    const policy = ruleFor(`context has expiresInSeconds && ${condition}`, "principal, action, resource");
    await whileRuled(own.org, { name: "short", policy }, async () => {
      const refused = await exchange(own.org.name, await issuer.token());
      expect([refused.status, refused.body.error]).toEqual([400, "invalid_grant"]);
      expect(refused.body.error_description).toContain("'short' forbids this change");
      data(
        await own.org.owner.patch(
          `/identity-trusts/${own.trust.id}`,
          resource("identity-trusts", { "token-seconds": 300 }),
        ),
      );
      expect((await exchange(own.org.name, await issuer.token())).status).toBe(200);
    });
  });

  it("400: an invalid request", async () => {
    const token = await issuer.token();
    const send = async (form: URLSearchParams | string, headers = {}) => {
      const response = await fetch(`${api.url}/oauth/token`, { method: "POST", body: form, headers });
      return { status: response.status, error: ((await response.json()) as any).error };
    };
    expect(await send(new URLSearchParams({ grant_type: "password" }))).toEqual({
      status: 400,
      error: "unsupported_grant_type",
    });
    expect(await send("{}", { "content-type": "application/json" })).toEqual({ status: 400, error: "invalid_request" });
    const twice = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:token-exchange" });
    twice.append("grant_type", "x");
    expect(await send(twice)).toEqual({ status: 400, error: "invalid_request" });
    expect((await exchange(org.name, "no token")).body.error).toBe("invalid_request");
    expect((await exchange(org.name, token, { subject_token_type: "saml" })).body.error).toBe("invalid_request");
    expect((await exchange("", token)).body.error_description).toBe("Missing: organization.");
  });
});

describe("private addresses", () => {
  const strict = useApi({ options: { privateAddresses: [] }, failures: { burst: 2, perSecond: 0.001 } });

  it("are not called, and too many failures are delayed", async () => {
    const own = await strict.makeOrganization();
    const team = await strict.makeTeam(own.name);
    const inside = await startIssuer();
    const trust = body({ issuer: inside.url }, team.id);
    data(await own.owner.post(`/organizations/${own.name}/identity-trusts`, trust));
    const { body: answer } = await exchange(own.name, await inside.token(), {}, strict);
    expect(answer.error_description).toContain("CADASTRE_ALLOW_PRIVATE_ADDRESSES");
    expect(inside.keyRequests()).toBe(0);
    await exchange(own.name, await inside.token(), {}, strict);
    const third = await exchange(own.name, await inside.token(), {}, strict);
    inside.http.close();
    expect(third.status).toBe(429);
    expect(details({ body: third.body } as never)[0]).toContain("Too many failed sign-ins");
  });
});
