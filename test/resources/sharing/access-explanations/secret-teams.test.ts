/** Whoever manages access to a thing learns of the secret teams that have to do with it, and of no others. */
import { expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { grantWorkspace, makeMember, makeOrganization, makeTeam, makeWorkspace } from "../../../support/builders.ts";

const api = useApi();

it("a secret team without access here is 404 to a workspace admin, and no secret to owners", async () => {
  const org = await makeOrganization(api);
  const workspace = await makeWorkspace(api, org.name);
  const admins = await makeTeam(api, org.name);
  await grantWorkspace(api, org.id, workspace.id, admins.id, "admin");
  const admin = await makeMember(api, org.name, [admins.id]);
  const secret = await makeTeam(api, org.name, { visibility: "secret" });
  const ask = `/workspaces/${workspace.id}/access?filter[team][id]=${secret.id}`;
  expect((await admin.get(ask)).status).toBe(404);
  expect((await org.owner.get(ask)).status).toBe(200);
  await grantWorkspace(api, org.id, workspace.id, secret.id, "read");
  expect((await admin.get(ask)).status).toBe(200);
});
