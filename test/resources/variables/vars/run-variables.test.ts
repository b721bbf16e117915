/** The variables of a run: the workspace's effective variables, decrypted, and the run's own. */
import { describe, expect, it } from "vitest";
import { createVault } from "../../../../src/database/vault.ts";
import { effectiveVariables, withRunVariables } from "../../../../src/resources/variables/vars/reads.ts";
import { useApi } from "../../../support/api.ts";
import { makeOrganization, makeVarset, makeWorkspace } from "../../../support/builders.ts";
import { addVar } from "../varsets/support.ts";

const api = useApi();
const vault = createVault(Buffer.alloc(32, 7));

describe("the variables of a run", () => {
  it("are those of all-vars with their values, including sensitive ones; its own override all but priority ones", async () => {
    const org = await makeOrganization(api);
    const { id } = await makeWorkspace(api, org.name);
    const own = `/workspaces/${id}/vars`;
    await addVar(org, own, { key: "a", value: "own a" });
    await addVar(org, own, { key: "b", value: "own b", sensitive: true });
    await addVar(org, own, { key: "b", value: "environment", category: "env" });
    const set = await makeVarset(api, org.name, { global: true, priority: true });
    await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "c", value: '"last word"', hcl: true });
    const location = { id, organizationId: org.id, projectId: org.defaultProjectId };
    const inForce = await effectiveVariables(api.database.reader, vault, location);
    const plain = { category: "terraform", hcl: false, sensitive: false, priority: false };
    expect(inForce).toEqual([
      { ...plain, key: "b", value: "environment", category: "env" },
      { ...plain, key: "a", value: "own a" },
      { ...plain, key: "b", value: "own b", sensitive: true },
      { ...plain, key: "c", value: '"last word"', hcl: true, priority: true },
    ]);
    const sent = ["b", "c", "d"].map((key) => ({ key, value: `"${key} of the run"` }));
    expect(withRunVariables(inForce, sent).map(({ key, value, category }) => [key, value, category])).toEqual([
      ["b", "environment", "env"],
      ["a", "own a", "terraform"],
      ["c", '"last word"', "terraform"],
      ["b", '"b of the run"', "terraform"],
      ["d", '"d of the run"', "terraform"],
    ]);
  });
});
