/** Workload identity tokens: others can verify the signature, the run and the audience with the published keys. */
import { createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { rotateIdentityKey, signIdentityTokens } from "../../../../src/resources/runs/identity-keys/writes.ts";
import { identityLifeMaxMs, publishableKeys } from "../../../../src/resources/runs/identity-keys/rules.ts";
import { operatorContext } from "../../../../src/service.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { testVault } from "../../../support/phases.ts";

const api = useApi();

const facts = (phase: "plan" | "apply" = "plan") => ({
  issuer: api.url,
  organization: { id: "org-1", name: "acme" },
  project: { id: "prj-1", name: "Shared networks" },
  workspace: { id: "ws-1", name: "core" },
  runId: "run-1",
  phase,
  timeoutSeconds: 7200,
});
const env = (key: string, value: string, category = "env") => ({ key, value, category });
const signed = (variables: Parameters<typeof signIdentityTokens>[3], phase?: "apply") =>
  api.database.write((tx) => signIdentityTokens(tx, testVault, facts(phase), variables));

const keys = async (): Promise<{ kid: string; [name: string]: unknown }[]> =>
  (await api.nobody.get("/.well-known/jwks")).body.keys;
const decoded = (part = ""): Json => JSON.parse(Buffer.from(part, "base64url").toString());

/** Verifies a token like a relying party, with the published key that it names. Returns the claims, or undefined. */
async function verified(token = ""): Promise<Json> {
  const [head, body, signature = ""] = token.split(".");
  const { kid, alg } = decoded(head);
  expect(alg).toBe("RS256");
  const jwk = (await keys()).find((key) => key.kid === kid);
  if (jwk === undefined) return undefined;
  const key = createPublicKey({ key: jwk as Json, format: "jwk" });
  const isOurs = verify("sha256", Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"));
  return isOurs ? decoded(body) : undefined;
}

const rotate = (revoke: boolean) =>
  api.audited.write((tx) =>
    rotateIdentityKey(tx, operatorContext(api.database, { organizationCreation: "anyone" }, "test"), testVault, {
      revoke,
    }),
  );

describe("discovery", () => {
  it("names the issuer and the URL of the keys, without a token", async () => {
    const { status, body } = await api.nobody.get("/.well-known/openid-configuration");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      issuer: api.url,
      jwks_uri: `${api.url}/.well-known/jwks`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    });
    expect(body.claims_supported).toContain("terraform_run_phase");
  });

  it("always has a key, the same one, without its private part", async () => {
    const [first, ...others] = await keys();
    expect(others).toEqual([]);
    expect(Object.keys(first ?? {}).toSorted()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
    expect(first).toMatchObject({ kty: "RSA", alg: "RS256", use: "sig" });
    expect(await keys()).toEqual([first]);
    const stored = await api.database.reader.db.selectFrom("identityKeys").selectAll().executeTakeFirstOrThrow();
    expect(() => createPublicKey({ key: Buffer.from(stored.privateKey), format: "der", type: "spki" })).toThrow();
  });
});

describe("signIdentity", () => {
  it("signs the run's claims for the variable's audience, until the phase's time limit", async () => {
    const [token] = await signed([env("TFC_WORKLOAD_IDENTITY_AUDIENCE", "vault")]);
    expect(token?.name).toBe("TFC_WORKLOAD_IDENTITY_TOKEN");
    const claims = await verified(token?.value);
    expect(claims).toMatchObject({
      iss: api.url,
      aud: "vault",
      sub: "organization:acme:project:Shared networks:workspace:core:run_phase:plan",
      terraform_organization_id: "org-1",
      terraform_organization_name: "acme",
      terraform_project_id: "prj-1",
      terraform_project_name: "Shared networks",
      terraform_workspace_id: "ws-1",
      terraform_workspace_name: "core",
      terraform_full_workspace: "organization:acme:project:Shared networks:workspace:core",
      terraform_run_id: "run-1",
      terraform_run_phase: "plan",
    });
    expect(claims.exp - claims.iat).toBe(7200);
    expect(claims.nbf).toBe(claims.iat);
    expect(Math.abs(claims.iat - Date.now() / 1000)).toBeLessThan(60);
    expect(claims.jti).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("signs one for each tag, and distinguishes plan and apply", async () => {
    const tokens = await signed(
      [
        env("TFC_WORKLOAD_IDENTITY_AUDIENCE", "one"),
        env("TFC_WORKLOAD_IDENTITY_AUDIENCE_BILLING", "two"),
        env("TFC_WORKLOAD_IDENTITY_AUDIENCE_NONE", ""),
        env("TFC_WORKLOAD_IDENTITY_AUDIENCE_X", "three", "terraform"),
        env("OTHER", "four"),
      ],
      "apply",
    );
    expect(tokens.map(({ name }) => name)).toEqual([
      "TFC_WORKLOAD_IDENTITY_TOKEN",
      "TFC_WORKLOAD_IDENTITY_TOKEN_BILLING",
    ]);
    const claims = await verified(tokens[1]?.value);
    expect(claims).toMatchObject({ aud: "two", terraform_run_phase: "apply" });
    expect(claims.sub).toMatch(/:run_phase:apply$/);
    expect(claims.jti).not.toBe((await verified(tokens[0]?.value)).jti);
  });

  it("does nothing if no token is requested", async () => {
    const before = api.database.statementCount();
    expect(await api.database.write((tx) => signIdentityTokens(tx, testVault, facts(), [env("A", "b")]))).toEqual([]);
    expect(api.database.statementCount() - before).toBe(0);
  });

  it("can't be forged: another payload with the same signature is invalid", async () => {
    const [token] = await signed([env("TFC_WORKLOAD_IDENTITY_AUDIENCE", "vault")]);
    const [head, body, signature] = token?.value.split(".") ?? [];
    const other = Buffer.from(JSON.stringify({ ...decoded(body), aud: "bank" })).toString("base64url");
    expect(await verified([head, other, signature].join("."))).toBeUndefined();
  });
});

describe("rotateIdentityKey", () => {
  it("signs with the new key, and tokens of the old one stay valid", async () => {
    const audience = [env("TFC_WORKLOAD_IDENTITY_AUDIENCE", "vault")];
    const [old] = await signed(audience);
    const { id, published } = await rotate(false);
    const [fresh] = await signed(audience);
    expect(decoded(fresh?.value.split(".")[0]).kid).toBe(id);
    expect(published[0]).toBe(id);
    expect((await keys()).map(({ kid }) => kid)).toEqual(published);
    expect(await verified(old?.value)).toMatchObject({ aud: "vault" });
    expect(await verified(fresh?.value)).toMatchObject({ aud: "vault" });
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", id)
      .execute();
    expect(events).toMatchObject([{ action: "identity-keys.rotate", actorKind: "operator" }]);
  });

  it("with revoke: tokens of older keys become invalid", async () => {
    const [old] = await signed([env("TFC_WORKLOAD_IDENTITY_AUDIENCE", "vault")]);
    const { id } = await rotate(true);
    expect((await keys()).map(({ kid }) => kid)).toEqual([id]);
    expect(await verified(old?.value)).toBeUndefined();
  });

  it("publishes a key exactly as long as its tokens may be valid", () => {
    const at = (ms: number) => ({ createdAt: new Date(ms).toISOString() });
    const keysOf = [at(1000), at(500), at(100)];
    expect(publishableKeys(keysOf, 500 + identityLifeMaxMs - 1)).toEqual(keysOf);
    expect(publishableKeys(keysOf, 500 + identityLifeMaxMs)).toEqual(keysOf.slice(0, 2));
    expect(publishableKeys(keysOf, 1000 + identityLifeMaxMs)).toEqual(keysOf.slice(0, 1));
  });

  it("deletes keys that are no longer published", async () => {
    await api.database.write((tx) =>
      tx.db.updateTable("identityKeys").set({ createdAt: "2020-01-01T00:00:00.000Z" }).execute(),
    );
    await rotate(false);
    await api.database.write((tx) =>
      tx.db
        .updateTable("identityKeys")
        .set({ createdAt: "2020-06-01T00:00:00.000Z" })
        .where("createdAt", ">", "2020-01-02")
        .execute(),
    );
    const { published } = await rotate(false);
    expect(published).toHaveLength(2);
    expect(await api.database.reader.db.selectFrom("identityKeys").select("id").execute()).toHaveLength(2);
  });
});
