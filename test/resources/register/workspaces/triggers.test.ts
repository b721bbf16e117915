/** trigger-prefixes and trigger-patterns: a list that is sent empties the other, unless both are sent. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource } from "../../../support/builders.ts";
import { pathById } from "./support.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
});

interface Triggers {
  readonly prefixes?: readonly string[];
  readonly patterns?: readonly string[];
}
const attributesOf = ({ prefixes, patterns }: Triggers) => ({
  ...(prefixes && { "trigger-prefixes": prefixes }),
  ...(patterns && { "trigger-patterns": patterns }),
});
const both: Triggers = { prefixes: ["modules/"], patterns: ["/live/**/*"] };

describe("updateWorkspace: triggers", () => {
  it.each<[string, Triggers, Triggers, Required<Triggers>]>([
    ["prefixes empty patterns", { patterns: ["**/*.tf"] }, { prefixes: ["a/"] }, { prefixes: ["a/"], patterns: [] }],
    ["patterns empty prefixes", { prefixes: ["a/"] }, { patterns: ["b/**"] }, { prefixes: [], patterns: ["b/**"] }],
    ["prefixes empty patterns where both were there", both, { prefixes: ["a/"] }, { prefixes: ["a/"], patterns: [] }],
    [
      "so do the prefixes that are there already",
      both,
      { prefixes: ["modules/"] },
      { prefixes: ["modules/"], patterns: [] },
    ],
    ["empty prefixes empty patterns", both, { prefixes: [] }, { prefixes: [], patterns: [] }],
    ["empty patterns empty prefixes", both, { patterns: [] }, { prefixes: [], patterns: [] }],
    ["both stand where both are sent", {}, both, both as Required<Triggers>],
    ["neither sent, neither changes", both, {}, both as Required<Triggers>],
    ["one sent empty beside the other", both, { prefixes: ["a/"], patterns: [] }, { prefixes: ["a/"], patterns: [] }],
  ])("%s", async (_, before, sent, after) => {
    const workspace = await makeWorkspace(api, org.name, attributesOf(before));
    const body = resource("workspaces", { description: "changed", ...attributesOf(sent) });
    const changed = data(await org.owner.patch(pathById(workspace), body));
    expect(changed.attributes).toMatchObject(attributesOf(after));
    expect(data(await org.owner.get(pathById(workspace)))).toEqual(changed);
  });

  it("the audit event tells what was emptied", async () => {
    const workspace = await makeWorkspace(api, org.name, { "trigger-patterns": ["**/*.tf"] });
    data(await org.owner.patch(pathById(workspace), resource("workspaces", { "trigger-prefixes": ["a/"] })));
    const events = await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${workspace.id}`);
    expect(data(events)[0].attributes.before).toMatchObject({
      "trigger-prefixes": [],
      "trigger-patterns": ["**/*.tf"],
    });
    expect(data(events)[0].attributes.after).toMatchObject({ "trigger-prefixes": ["a/"], "trigger-patterns": [] });
  });
});

describe("createWorkspace: triggers", () => {
  it.each<[string, Triggers]>([
    ["both", both],
    ["prefixes alone", { prefixes: ["a/"] }],
    ["patterns alone", { patterns: ["b/**"] }],
  ])("%s stand as they are sent", async (_, sent) => {
    const made = await makeWorkspace(api, org.name, attributesOf(sent));
    expect(made.attributes).toMatchObject(attributesOf({ prefixes: [], patterns: [], ...sent }));
  });
});
