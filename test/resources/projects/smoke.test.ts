import { expect, it } from "vitest";
import { useApi } from "../../support/api.ts";
import {
  data,
  grantProject,
  makeHolder,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
} from "../../support/builders.ts";

const api = useApi();

it("works", async () => {
  const org = await makeOrganization(api);
  const project = await makeProject(api, org.name);
  const team = await makeTeam(api, org.name);
  const member = await makeMember(api, org.name, [team.id]);
  expect((await member.get(`/projects/${project.id}`)).status).toBe(404);
  await grantProject(api, org.id, project.id, team.id, "read");
  expect((await member.get(`/projects/${project.id}`)).status).toBe(200);
  expect(data(await member.get(`/organizations/${org.name}/projects`))).toHaveLength(1);
  expect(data(await org.owner.get(`/organizations/${org.name}/projects`))).toHaveLength(2);
  const holder = await makeHolder(api, org.name, "manage-projects");
  expect((await holder.delete(`/projects/${project.id}`)).status).toBe(204);
  expect((await org.owner.get(`/organizations/${org.name}/audit-events`)).status).toBe(200);
  expect((await org.owner.get(`/organizations/${org.name}/teams?include=users,organization-memberships`)).status).toBe(
    200,
  );
  expect((await org.owner.get(`/organizations/${org.name}/organization-memberships?include=user,teams`)).status).toBe(
    200,
  );
  expect((await org.owner.get(`/organizations/${org.name}/team-tokens`)).status).toBe(200);
});
