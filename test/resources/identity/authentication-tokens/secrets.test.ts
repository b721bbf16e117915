import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { recordTokenUses } from "../../../../src/resources/identity/authentication-tokens/writes.ts";
import { type Json, startApi, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeTeam, makeUser, type Org, resource } from "../../../support/builders.ts";

const api = useApi();

const wanted = (attributes: object) => resource("authentication-tokens", attributes);

/** One new token of each kind, with its secret. */
async function makeAll(org: Org): Promise<Json[]> {
  const team = await makeTeam(api, org.name);
  const paths = [
    `/users/${org.owner.id}/authentication-tokens`,
    `/teams/${team.id}/authentication-token`,
    `/teams/${team.id}/authentication-tokens`,
    `/organizations/${org.name}/authentication-token`,
  ];
  const tokens: Json[] = [];
  for (const path of paths)
    tokens.push(data(await org.owner.post(path, wanted({ description: path, "expired-at": null }))));
  return tokens;
}

describe("the secret of a token", () => {
  it("is stored only as a hash, and in no other column", async () => {
    const org = await makeOrganization(api);
    for (const { id, attributes } of await makeAll(org)) {
      const row = await api.database.reader.db
        .selectFrom("tokens")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      expect(row.hash).toBe(createHash("sha256").update(attributes.token).digest("hex"));
      expect(JSON.stringify(row)).not.toContain(attributes.token);
    }
  });

  it("is different each time", async () => {
    const org = await makeOrganization(api);
    const secrets = [...(await makeAll(org)), ...(await makeAll(org))].map((token) => token.attributes.token);
    expect(new Set(secrets).size).toBe(8);
  });

  it("is never shown again, nor its hash", async () => {
    const org = await makeOrganization(api);
    const tokens = await makeAll(org);
    const teamId = tokens[1].relationships.team.data.id;
    const answers = [
      await org.owner.get(`/users/${org.owner.id}/authentication-tokens`),
      await org.owner.get(`/teams/${teamId}/authentication-token`),
      await org.owner.get(`/teams/${teamId}/authentication-tokens`),
      await org.owner.get(`/organizations/${org.name}/authentication-token`),
      await org.owner.get(`/organizations/${org.name}/team-tokens`),
      ...(await Promise.all(tokens.map(({ id }) => org.owner.get(`/authentication-tokens/${id}`)))),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      const text = JSON.stringify(answer.body);
      for (const { attributes } of tokens) {
        expect(text).not.toContain(attributes.token);
        expect(text).not.toContain(createHash("sha256").update(attributes.token).digest("hex"));
      }
    }
  });

  it("is not in the audit log, which records who created and revoked which token", async () => {
    const org = await makeOrganization(api);
    const [userToken, ...rest] = await makeAll(org);
    const shared = rest.slice(1);
    for (const { id } of shared) await org.owner.delete(`/authentication-tokens/${id}`);
    const events = await api.database.reader.db.selectFrom("auditEvents").selectAll().execute();
    const text = JSON.stringify(events);
    for (const { attributes } of [userToken, ...rest]) {
      expect(text).not.toContain(attributes.token);
      expect(text).not.toContain(createHash("sha256").update(attributes.token).digest("hex"));
    }
    for (const { id, attributes } of shared) {
      const tokenEvents = data(
        await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}`),
      );
      const audited = { description: attributes.description, "expired-at": null };
      const byAction = tokenEvents
        .map((event: Json) => event.attributes)
        .toSorted((one: Json, two: Json) => one.action.localeCompare(two.action));
      expect(byAction).toMatchObject([
        { action: "authentication-tokens.create", "actor-id": org.owner.id, before: null, after: audited },
        { action: "authentication-tokens.delete", "actor-id": org.owner.id, before: audited, after: null },
      ]);
    }
    expect(events.find((event) => event.subjectId === userToken.id)).toMatchObject({
      action: "authentication-tokens.create",
      actorId: org.owner.id,
      organizationId: null,
    });
  });

  it("a replacement records events for both tokens, with the token that was used", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    const lasting = resource("authentication-tokens", { "expired-at": null });
    const first = data(await org.owner.post(`/teams/${team.id}/authentication-token`, lasting));
    const second = data(await api.as(first.attributes.token).post(`/teams/${team.id}/authentication-token`));
    const actionsOn = async (id: string) =>
      data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}`)).map(
        (event: Json) => [event.attributes.action, event.attributes["actor-kind"], event.attributes["token-id"]],
      );
    expect(await actionsOn(first.id)).toContainEqual(["authentication-tokens.delete", "team", first.id]);
    expect(await actionsOn(second.id)).toEqual([["authentication-tokens.create", "team", first.id]]);
  });
});

describe("an invalid token", () => {
  it("401: an expired token, without further details", async () => {
    const ada = await makeUser(api);
    const created = data(await ada.post(`/users/${ada.id}/authentication-tokens`));
    const token = api.as(created.attributes.token);
    const setExpiry = (expiredAt: string) =>
      api.database.write((tx) => tx.db.updateTable("tokens").set({ expiredAt }).where("id", "=", created.id).execute());
    await setExpiry("2099-01-01T00:00:00.000Z");
    expect((await token.get("/account/details")).status).toBe(200);
    await setExpiry("2020-01-01T00:00:00.000Z");
    const expired = await token.get("/account/details");
    expect(expired.status).toBe(401);
    expect(expired.headers.get("www-authenticate")).toBe("Bearer");
    expect(expired.body).toEqual((await api.as("cadastre-unknown").get("/account/details")).body);
    const [listed] = data(await ada.get(`/users/${ada.id}/authentication-tokens?page[size]=100`)).filter(
      (one: Json) => one.id === created.id,
    );
    expect(listed.attributes["expired-at"]).toBe("2020-01-01T00:00:00.000Z");
  });

  it("401: the stored hash doesn't authenticate", async () => {
    const ada = await makeUser(api);
    const hash = createHash("sha256")
      .update(ada.token ?? "")
      .digest("hex");
    expect((await api.as(hash).get("/account/details")).status).toBe(401);
  });

  it("401: all of a team's tokens after the organization is deleted", async () => {
    const org = await makeOrganization(api);
    const tokens = await makeAll(org);
    expect((await org.owner.delete(`/organizations/${org.name}`)).status).toBe(204);
    const statuses = await Promise.all(
      tokens.map(async ({ attributes }) => (await api.as(attributes.token).get("/account/details")).status),
    );
    expect(statuses).toEqual([200, 401, 401, 401]);
  });
});

describe("last-used-at", () => {
  it("is null until the token is used, and stored at the latest when the server stops", async () => {
    const own = await startApi();
    try {
      const ada = await makeUser(own);
      const [used, unused] = [
        data(await ada.post(`/users/${ada.id}/authentication-tokens`)),
        data(await ada.post(`/users/${ada.id}/authentication-tokens`)),
      ];
      expect(used.attributes["last-used-at"]).toBeNull();
      await own.as(used.attributes.token).get("/account/details");
      await own.server.close();
      const rows = await own.database.reader.db
        .selectFrom("tokens")
        .select(["id", "lastUsedAt", "createdAt", "version"])
        .where("userId", "=", ada.id)
        .execute();
      const row = (id: string) => rows.find((one) => one.id === id);
      expect(row(unused.id)?.lastUsedAt).toBeNull();
      expect(row(used.id)?.lastUsedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect((row(used.id)?.lastUsedAt ?? "") >= (row(used.id)?.createdAt ?? "~")).toBe(true);
      expect(row(used.id)?.version).toBe(1);
    } finally {
      await own.stop();
    }
  });

  it("is shown", async () => {
    const ada = await makeUser(api);
    const [token] = data(await ada.get(`/users/${ada.id}/authentication-tokens`));
    const lastUsedAt = "2020-01-01T00:00:00.000Z";
    await api.database.write((tx) =>
      tx.db.updateTable("tokens").set({ lastUsedAt }).where("id", "=", token.id).execute(),
    );
    const shown = async () =>
      data(await api.admin.get(`/authentication-tokens/${token.id}`)).attributes["last-used-at"];
    expect(await shown()).toBe(lastUsedAt);
    const later = "2020-01-02T00:00:00.000Z";
    await api.database.write((tx) => recordTokenUses(tx, new Map([[token.id, later]])), { keepsCache: true });
    expect(await shown()).toBe(later);
  });
});
