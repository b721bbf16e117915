/** Migration of an existing register: its organizations get token policies, and existing engine versions stay. */
import { CompiledQuery } from "kysely";
import { expect, it } from "vitest";
import { moreIdentity } from "../../src/database/migrations/0008-identity.ts";
import { useApi } from "../support/api.ts";
import { data, makeOrganization, resource } from "../support/builders.ts";

const api = useApi();
const insertions = moreIdentity.statements.filter((statement) => statement.startsWith("INSERT"));

it("adds one policy for each organization and token type, and one row for each engine version", async () => {
  const orgs = [await makeOrganization(api), await makeOrganization(api)];
  const { db } = api.database.reader;
  const fresh = await db.selectFrom("engineVersions").select("engineVersion").orderBy("id").execute();
  await api.database.write(async (tx) => {
    await tx.db.deleteFrom("organizationTokenTtlPolicies").execute();
    await tx.db.deleteFrom("engineVersions").execute();
  });
  const added = data(
    await api.admin.post(
      "/admin/terraform-versions",
      resource("terraform-versions", { version: "1.5.7", enabled: false }),
    ),
  );
  await api.database.write(async (tx) => {
    for (const statement of insertions) await tx.db.executeQuery(CompiledQuery.raw(statement));
  });
  for (const { name } of orgs) {
    const policies = data(await api.admin.get(`/organizations/${name}/token-ttl-policies`));
    const values = policies.map(({ attributes }: { attributes: Record<string, unknown> }) => [
      attributes["token-type"],
      attributes["max-ttl-ms"],
    ]);
    expect(Object.fromEntries(values)).toEqual({
      organization: 63_113_904_000,
      team: 63_113_904_000,
      user: 63_113_904_000,
      audit_trails: 63_113_904_000,
    });
  }
  expect(await db.selectFrom("organizationTokenTtlPolicies").select("id").distinct().execute()).toHaveLength(8);
  expect(data(await api.admin.get(`/admin/terraform-versions/${added.id}`))).toEqual(added);
  const after = await db.selectFrom("engineVersions").select("engineVersion").execute();
  expect(after.map(({ engineVersion }) => engineVersion).toSorted()).toEqual(
    fresh.map(({ engineVersion }) => engineVersion).toSorted(),
  );
});
