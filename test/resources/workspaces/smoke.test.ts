import { expect, it } from "vitest";
import { useApi } from "../../support/api.ts";
import { data, makeOrganization, makeProject, makeWorkspace, inProject, resource } from "../../support/builders.ts";

const api = useApi();

it("works", async () => {
  const org = await makeOrganization(api);
  const project = await makeProject(api, org.name, { "auto-destroy-activity-duration": "14d" });
  const ws = await makeWorkspace(
    api,
    org.name,
    { name: "alpha" },
    {
      ...inProject(project.id),
      tags: {
        data: [
          { type: "tags", attributes: { name: "b" } },
          { type: "tags", attributes: { name: "a" } },
        ],
      },
    },
  );
  expect(ws.attributes["tag-names"]).toEqual(["a", "b"]);
  expect(ws.attributes["auto-destroy-at"]).toBeTruthy();
  const shown = data(
    await org.owner.get(`/organizations/${org.name}/workspaces/alpha?include=project,organization,locked_by`),
  );
  const listed = data(
    await org.owner.get(
      `/organizations/${org.name}/workspaces?search[tags]=a,b&search[name]=LPH&filter[tagged][0][key]=a&search[wildcard-name]=al*&sort=-current-run.created-at`,
    ),
  );
  expect(listed).toEqual([shown]);
  expect(shown).toEqual(data(await org.owner.get(`/workspaces/${ws.id}`)));
  const locked = await org.owner.post(`/workspaces/${ws.id}/actions/lock`, { reason: "x" });
  expect(locked.status).toBe(200);
  expect((await api.admin.post(`/workspaces/${ws.id}/actions/unlock`)).body.errors[0].detail).toContain(
    "is locked by User",
  );
  expect((await org.owner.post(`/workspaces/${ws.id}/actions/unlock`)).status).toBe(200);
  const patched = data(
    await org.owner.patch(
      `/workspaces/${ws.id}`,
      resource("workspaces", { "execution-mode": "local", description: "d" }, inProject(org.defaultProjectId)),
    ),
  );
  expect(patched.attributes.operations).toBe(false);
  expect(patched.attributes["auto-destroy-at"]).toBe(null);
  expect((await org.owner.post(`/workspaces/${ws.id}/actions/safe-delete`)).status).toBe(204);
  expect(data(await org.owner.get(`/organizations/${org.name}/tags`))).toEqual([]);
});
