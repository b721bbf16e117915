/** The descriptions of a team's tokens, which must be unique. */
import { beforeEach, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeTeam, type Org, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let teamId: string;
beforeEach(async () => {
  org = await makeOrganization(api);
  teamId = (await makeTeam(api, org.name)).id;
});
const several = () => `/teams/${teamId}/authentication-tokens`;
const single = () => `/teams/${teamId}/authentication-token`;
const described = (description: string | null) => resource("authentication-tokens", { description });

describe("the description of a team's token", () => {
  it("422: one that another token of the team has, with the error that clients expect", async () => {
    data(await org.owner.post(several(), described("CI")));
    for (const path of [several(), single()]) {
      const answer = await org.owner.post(path, described("CI"));
      expect(answer.status).toBe(422);
      expect(answer.body.errors).toEqual([
        {
          status: "422",
          title: "invalid attributes",
          detail: "Validation failed: Description has already been taken",
          source: { pointer: "/data/attributes/description" },
        },
      ]);
    }
    expect(data(await org.owner.get(several()))).toHaveLength(1);
  });

  it("201: no description or an empty one, any number of times", async () => {
    for (const description of ["", "", null, null])
      expect((await org.owner.post(several(), described(description))).status).toBe(201);
    expect(data(await org.owner.post(several(), described(""))).attributes.description).toBe("");
  });

  it("201: in another case, of another team, and again after the token is revoked", async () => {
    const first = data(await org.owner.post(several(), described("CI")));
    expect((await org.owner.post(several(), described("ci"))).status).toBe(201);
    const other = await makeTeam(api, org.name);
    expect((await org.owner.post(`/teams/${other.id}/authentication-tokens`, described("CI"))).status).toBe(201);
    expect((await org.owner.delete(`/authentication-tokens/${first.id}`)).status).toBe(204);
    expect((await org.owner.post(several(), described("CI"))).status).toBe(201);
  });

  it("201: of the single token that is replaced", async () => {
    data(await org.owner.post(single(), described("single")));
    expect((await org.owner.post(single(), described("single"))).status).toBe(201);
    expect((await org.owner.post(several(), described("single"))).status).toBe(422);
  });

  it("is taken by only one of concurrent requests", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => org.owner.post(several(), described("race"))));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422, 422, 422, 422]);
  });

  it("doesn't have to be unique for users' tokens", async () => {
    const path = `/users/${org.owner.id}/authentication-tokens`;
    for (let count = 0; count < 2; count += 1)
      expect((await org.owner.post(path, described("laptop"))).status).toBe(201);
  });
});
