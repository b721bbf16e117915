/** CADASTRE_GLOBAL_REMOTE_STATE_DEFAULT: what a workspace that is created without global-remote-state begins with. */
import { expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, resource } from "../../../support/builders.ts";
import { pathById } from "./support.ts";

const api = useApi({ options: { globalRemoteStateDefault: true } });

it("createWorkspace: uses the sent value, or else the service's default", async () => {
  const org = await makeOrganization(api);
  expect((await makeWorkspace(api, org.name)).attributes["global-remote-state"]).toBe(true);
  const chosen = await makeWorkspace(api, org.name, { "global-remote-state": false });
  expect(chosen.attributes["global-remote-state"]).toBe(false);
  const changed = await org.owner.patch(pathById(chosen), resource("workspaces", { description: "x" }));
  expect(data(changed).attributes["global-remote-state"]).toBe(false);
});
