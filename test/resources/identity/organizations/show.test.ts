/** GET /organizations/:organization_name with what can be included. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import {
  data,
  grantProject,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  type Org,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
});
const path = () => `/organizations/${org.name}`;

describe("showOrganization: include", () => {
  it.each(["default_project", "default-project", "default_project,default-project"])(
    "%s brings the default project, as its own address gives it",
    async (spelling) => {
      const answer = await org.owner.get(`${path()}?include=${spelling}`);
      expect(answer.status).toBe(200);
      expect(answer.body.included).toEqual([data(await org.owner.get(`/projects/${org.defaultProjectId}`))]);
      expect(answer.body.data).toEqual(data(await org.owner.get(path())));
      expect(answer.body.data.relationships["default-project"].data.id).toBe(org.defaultProjectId);
    },
  );

  it("leaves it out where nobody asks, and for those who may not read it", async () => {
    expect((await org.owner.get(path())).body).not.toHaveProperty("included");
    const asked = `${path()}?include=default_project`;
    const member = await makeMember(api, org.name);
    expect((await member.get(asked)).body.included).toEqual([]);
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, org.defaultProjectId, team.id, "read");
    const reader = await makeMember(api, org.name, [team.id]);
    for (const caller of [reader, await makeOrganizationToken(api, org.name)])
      expect((await caller.get(asked)).body.included).toHaveLength(1);
  });

  it("400: in a list, and what is not known", async () => {
    expect((await org.owner.get("/organizations?include=default_project")).status).toBe(400);
    expect((await org.owner.get(`${path()}?include=entitlement_set`)).status).toBe(400);
  });
});

describe("showOrganization: what never changes", () => {
  it("tells that modules are tested without a limit", async () => {
    expect(data(await org.owner.get(path())).attributes["remaining-testable-count"]).toBe(2_147_483_647);
  });
});
