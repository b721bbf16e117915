/** Checking a policy without storing a rule. */
import { beforeAll, describe, expect, it } from "vitest";
import { parsePolicy } from "../../../../src/resources/governance/access-rules/policy.ts";
import { checkPolicy } from "../../../../src/resources/governance/access-rules/policy-thread.ts";
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

/** Has 600 errors. */
const many = `forbid (principal, action, resource) when { [${'1+"",'.repeat(600)}1].contains(1) };`;

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

  it("a policy with many errors occupies another thread", async () => {
    const cpuOf = async (work: () => unknown) => {
      await work();
      const before = process.threadCpuUsage();
      for (const _ of [1, 2, 3, 4, 5]) await work();
      return process.threadCpuUsage(before).user;
    };
    const here = await cpuOf(() => parsePolicy(many));
    expect(await cpuOf(() => check(many))).toBeLessThan(here / 2);
    expect((await check(many)).status).toBe(422);
  });

  it("422: a policy that takes too long, and the next one is checked", async () => {
    const { faults } = await checkPolicy(org.id, many, 1);
    expect(JSON.stringify(faults)).toContain("takes too long to check");
    expect((await check("forbid (principal, action, resource);")).status).toBe(204);
  });

  it("429: too many at a time", async () => {
    const checks = Array.from({ length: 40 }, () => checkPolicy(org.id, "forbid ("));
    const refused = (await Promise.allSettled(checks)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(7);
    expect(refused[0]).toMatchObject({ reason: { code: "too-many-requests" } });
  });

  it("403 for a member, 404 for others", async () => {
    const policy = "forbid (principal, action, resource);";
    expect((await check(policy, await api.makeMember(org.name))).status).toBe(403);
    expect((await check(policy, (await api.makeOrganization()).owner)).status).toBe(404);
  });
});
