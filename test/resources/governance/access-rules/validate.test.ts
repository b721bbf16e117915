/** Checking a policy without storing a rule. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const rules = () => `/organizations/${org.name}/access-rules`;
const check = (policy: unknown, by = org.owner) =>
  by.post(`${rules()}/actions/validate`, resource("access-rules", { policy }));

describe("validatePolicy", () => {
  it("204: a valid policy, and no rule is stored", async () => {
    expect((await check(`forbid (principal, action, resource) when { context.approved };`)).status).toBe(204);
    expect(data(await org.owner.get(rules()))).toEqual([]);
  });

  it("422: the same errors as on creation", async () => {
    for (const policy of ["forbid (", "permit (principal, action, resource);"]) {
      const checked = await check(policy);
      expect(checked.status).toBe(422);
      expect(pointers(checked)).toEqual(["/data/attributes/policy"]);
      const created = await org.owner.post(
        rules(),
        resource("access-rules", { name: "a", enforcement: "forbid", policy }),
      );
      expect(details(created)).toEqual(details(checked));
    }
  });

  it("403 for a member, 404 for others", async () => {
    const policy = "forbid (principal, action, resource);";
    expect((await check(policy, await api.makeMember(org.name))).status).toBe(403);
    expect((await check(policy, (await api.makeOrganization()).owner)).status).toBe(404);
  });
});
