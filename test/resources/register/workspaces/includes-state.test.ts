/** The state in force beside workspaces, for clients that ask for it. */
import { expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { makeMember, makeOrganization, makeTeam, makeTeamWorkspace, makeWorkspace } from "../../../support/builders.ts";
import { stateOf, writeState } from "../../../support/states.ts";

const api = useApi();

it("include=current_state_version shows each state in force, to whoever may read it", async () => {
  const org = await makeOrganization(api);
  const [one, two] = [await makeWorkspace(api, org.name), await makeWorkspace(api, org.name)];
  const state = await writeState(org.owner, one.id, stateOf());
  const path = `/organizations/${org.name}/workspaces?include=current_state_version`;
  const { body } = await org.owner.get(path);
  expect(body.included).toMatchObject([
    { type: "state-versions", id: state.id, attributes: { "hosted-state-download-url": expect.any(String) } },
  ]);
  expect((await org.owner.get(`/workspaces/${two.id}?include=current_state_version`)).body.included).toEqual([]);
  // As the official client spells it.
  const hyphens = await org.owner.get(path.replaceAll("current_state_version", "current-state-version"));
  expect(hyphens.body.included).toEqual(body.included);
  const team = await makeTeam(api, org.name);
  await makeTeamWorkspace(api, one.id, team.id, { access: "custom", runs: "read", "state-versions": "read-outputs" });
  const caller = await makeMember(api, org.name, [team.id]);
  expect((await caller.get(path)).body).toMatchObject({ data: [{ id: one.id }], included: [] });
});
