/** Attempts to turn a token that expires soon into a credential that works for longer. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, useApi } from "../../../support/api.ts";
import { signInWithToken, signInWithPassword } from "../../../support/browser.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { exchangeToken, type Issuer, startIssuer } from "../../../support/pipelines.ts";

const api = useApi({ options: { privateAddresses: ["127.0.0.1"] } });

let issuer: Issuer;
beforeAll(async () => (issuer = await startIssuer()));
afterAll(() => void issuer.http.close());

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const token = (attributes: object) => resource("authentication-tokens", attributes);
const agentToken = resource("authentication-tokens", { description: "an agent" });

const permissions = ["manage-teams", "manage-membership", "manage-agent-pools"];

interface Scene {
  readonly org: Org;
  /** The owner of the attacker's token. */
  readonly teamId: string;
  readonly poolId: string;
  readonly trustId: string;
}

const trust = (teamId: string, attributes: object = {}) =>
  resource(
    "identity-trusts",
    {
      name: unique("trust"),
      issuer: issuer.url,
      audience: "cadastre",
      claims: { repository: "acme/*" },
      ...attributes,
    },
    { team: { data: { type: "teams", id: teamId } } },
  );

async function makeScene(): Promise<Scene> {
  const org = await api.makeOrganization();
  const { teamId } = await api.makeHolder(org.name, ...permissions);
  const pool = data(
    await org.owner.post(`/organizations/${org.name}/agent-pools`, resource("agent-pools", { name: unique("pool") })),
  );
  const created = data(
    await org.owner.post(`/organizations/${org.name}/identity-trusts`, trust(teamId, { "token-seconds": 60 })),
  );
  return { org, teamId, poolId: pool.id, trustId: created.id };
}

async function pipelineOf({ org }: Scene): Promise<Caller> {
  const { body } = await exchangeToken(api, org.name, await issuer.token());
  return api.as(body.access_token);
}

async function teamTokenOf({ org, teamId }: Scene, expiredAt: string | null): Promise<Caller> {
  const body = token({ "expired-at": expiredAt, description: unique("token") });
  return api.as(data(await org.owner.post(`/teams/${teamId}/authentication-tokens`, body)).attributes.token);
}

async function organizationTokenOf({ org }: Scene, expiredAt: string | null): Promise<Caller> {
  const path = `/organizations/${org.name}/authentication-token`;
  return api.as(data(await org.owner.post(path, token({ "expired-at": expiredAt }))).attributes.token);
}

/** Each route that creates a team or organization token with a given expiry. */
const teamRoutes = ({ teamId }: Scene) => [
  `/teams/${teamId}/authentication-token`,
  `/teams/${teamId}/authentication-tokens`,
];
const organizationRoutes = ({ org }: Scene) => [
  `/organizations/${org.name}/authentication-token`,
  `/organizations/${org.name}/authentication-token?token=audit-trails`,
];

/** Credentials that never expire, or that lead to such. */
const lastingAttempts = (
  { org, teamId, poolId, trustId }: Scene,
  by: Caller,
): Record<string, () => Promise<Answer>> => ({
  "an agent token": () => by.post(`/agent-pools/${poolId}/authentication-tokens`, agentToken),
  "an identity trust": () => by.post(`/organizations/${org.name}/identity-trusts`, trust(teamId)),
  "a change to an identity trust": () =>
    by.patch(`/identity-trusts/${trustId}`, resource("identity-trusts", { claims: { repository: "evil/*" } })),
});

const invite = ({ org }: Scene, by: Caller) =>
  by.post(
    `/organizations/${org.name}/organization-memberships`,
    resource("organization-memberships", { email: `${unique("new")}@example.com` }),
  );

const countTokens = async ({ org }: Scene): Promise<number> => {
  const rows = await api.database.reader.db
    .selectFrom("tokens")
    .select("id")
    .where("organizationId", "=", org.id)
    .execute();
  return rows.length;
};

describe("a pipeline's token", () => {
  it("403: can't create tokens with any expiry, or anything that leads to one", async () => {
    const scene = await makeScene();
    const pipeline = await pipelineOf(scene);
    const before = await countTokens(scene);
    for (const path of teamRoutes(scene))
      for (const expiredAt of [null, inMinutes(0.2), undefined]) {
        const answer = await pipeline.post(path, token(expiredAt === undefined ? {} : { "expired-at": expiredAt }));
        expect([path, expiredAt, answer.status]).toEqual([path, expiredAt, 403]);
        expect(details(answer)[0]).toContain("can't create a token, which would outlive it");
      }
    for (const [label, attempt] of Object.entries(lastingAttempts(scene, pipeline)))
      expect([label, (await attempt()).status]).toEqual([label, 403]);
    expect((await invite(scene, pipeline)).status).toBe(403);
    expect(await countTokens(scene)).toBe(before);
  });

  it("403: also for the owners team, and for the organization's tokens", async () => {
    const org = await api.makeOrganization();
    data(await api.admin.post(`/organizations/${org.name}/identity-trusts`, trust(org.ownersTeamId)));
    const pipeline = await pipelineOf({ org } as Scene);
    for (const path of organizationRoutes({ org } as Scene))
      expect((await pipeline.post(path, token({ "expired-at": inMinutes(0.2) }))).status).toBe(403);
    const team = await api.makeTeam(org.name);
    for (const path of teamRoutes({ teamId: team.id } as Scene)) expect((await pipeline.post(path)).status).toBe(403);
  });

  it("still works for everything else, and revokes tokens", async () => {
    const scene = await makeScene();
    const stored = await teamTokenOf(scene, null);
    const pipeline = await pipelineOf(scene);
    expect((await pipeline.get(`/teams/${scene.teamId}/authentication-tokens`)).status).toBe(200);
    expect((await pipeline.delete(`/identity-trusts/${scene.trustId}`)).status).toBe(204);
    expect((await pipeline.delete(`/organizations/${scene.org.name}/team-tokens`)).status).toBe(204);
    expect((await stored.get("/account/details")).status).toBe(401);
  });
});

describe.each(["team", "organization"] as const)("an expiring token of a %s", (kind) => {
  const own = (scene: Scene, expiredAt: string | null) =>
    kind === "team" ? teamTokenOf(scene, expiredAt) : organizationTokenOf(scene, expiredAt);
  const routes = (scene: Scene) =>
    kind === "team" ? teamRoutes(scene) : [...teamRoutes(scene), ...organizationRoutes(scene).slice(1)];

  it("422: can't create a token that expires later, never, or at the default time", async () => {
    const scene = await makeScene();
    const end = inMinutes(30);
    const caller = await own(scene, end);
    const before = await countTokens(scene);
    for (const path of routes(scene))
      for (const attributes of [{ "expired-at": null }, { "expired-at": inMinutes(31) }, {}]) {
        const answer = await caller.post(path, token(attributes));
        expect([path, attributes, answer.status]).toEqual([path, attributes, 422]);
        expect(pointers(answer)).toEqual(["/data/attributes/expired-at"]);
        expect(details(answer)[0]).toContain(`${end} or earlier`);
      }
    for (const path of routes(scene)) expect((await caller.post(path)).status).toBe(422);
    expect(await countTokens(scene)).toBe(before);
  });

  it("201: can create a token that expires no later, which can't create later ones either", async () => {
    const scene = await makeScene();
    const end = inMinutes(30);
    const caller = await own(scene, end);
    const [path = ""] = teamRoutes(scene);
    const created = data(await caller.post(path, token({ "expired-at": end })));
    expect(created.attributes["expired-at"]).toBe(end);
    const next = api.as(created.attributes.token);
    expect((await next.post(path, token({ "expired-at": inMinutes(31) }))).status).toBe(422);
    expect((await next.post(path, token({ "expired-at": inMinutes(20) }))).status).toBe(201);
  });

  it("403: can't create agent tokens, identity trusts or invitation links that outlive it", async () => {
    const scene = await makeScene();
    const caller = await own(scene, inMinutes(30));
    for (const [label, attempt] of Object.entries(lastingAttempts(scene, caller))) {
      const answer = await attempt();
      expect([label, answer.status]).toEqual([label, 403]);
      expect(details(answer)[0]).toContain("Your token expires at");
    }
    expect((await invite(scene, caller)).status).toBe(403);
    const longer = await own(scene, inMinutes(8 * 24 * 60));
    expect((await invite(scene, longer)).status).toBe(201);
  });

  it("403: can't renew an invitation link that outlives it", async () => {
    const scene = await makeScene();
    const membership = data(await invite(scene, scene.org.owner));
    const caller = await own(scene, inMinutes(30));
    const path = `/organization-memberships/${membership.id}/actions/renew-invitation`;
    expect((await caller.post(path)).status).toBe(403);
    expect((await scene.org.owner.post(path)).status).toBe(200);
  });

  it("expires with the organization's TTL policy, whatever its own expiry", async () => {
    const scene = await makeScene();
    const caller = await own(scene, null);
    const bound = (set: (tokenType: string) => number) =>
      api.database.write(async ({ db }) => {
        await db.updateTable("organizations").set({ maxTtlEnabled: 1 }).where("id", "=", scene.org.id).execute();
        for (const tokenType of ["team", "organization"])
          await db
            .updateTable("organizationTokenTtlPolicies")
            .set({ maxTtlMs: set(tokenType) })
            .where("organizationId", "=", scene.org.id)
            .where("tokenType", "=", tokenType)
            .execute();
      });
    await bound((tokenType) => (tokenType === kind ? 30 : 300) * 60_000);
    const [path = ""] = teamRoutes(scene);
    expect((await caller.post(path, token({ "expired-at": inMinutes(60) }))).status).toBe(422);
    expect((await caller.post(path, token({ "expired-at": inMinutes(10) }))).status).toBe(201);
  });

  it("201: without an expiry, it can create all of these", async () => {
    const scene = await makeScene();
    const caller = await own(scene, null);
    for (const path of routes(scene))
      expect((await caller.post(path, token({ "expired-at": null, description: unique("x") }))).status).toBe(201);
  });
});

describe("a user's token", () => {
  it("201: can create all of these, even if it expires", async () => {
    const scene = await makeScene();
    const { owner } = scene.org;
    const path = `/users/${owner.id}/authentication-tokens`;
    const short = api.as(data(await owner.post(path, token({ "expired-at": inMinutes(5) }))).attributes.token);
    for (const each of [path, ...teamRoutes(scene), ...organizationRoutes(scene)])
      expect((await short.post(each, token({ "expired-at": null, description: unique("x") }))).status).toBe(201);
    expect((await short.post(`/agent-pools/${scene.poolId}/authentication-tokens`, agentToken)).status).toBe(201);
  });

  it("403: a session started with it can't authorize a program; one with a password can", async () => {
    const ada = await api.makeUser();
    const authRequest = {
      "client-id": "terraform-cli",
      "redirect-uri": "http://localhost:10004/login",
      "response-type": "code",
      "code-challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      "code-challenge-method": "S256",
      state: "state",
      approve: true,
      "expires-at": null,
    };
    const authorize = async (browser: Caller) =>
      browser.post("/authorizations", resource("authorizations", authRequest));
    const answer = await authorize(await signInWithToken(api, ada));
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("with a password or through an SSO provider");
    expect((await authorize(await signInWithPassword(api, ada))).status).toBe(201);
  });
});
