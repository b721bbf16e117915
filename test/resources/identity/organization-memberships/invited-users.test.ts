/** What stands for the person in an invitation, until there is a user. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeTeam,
  makeUser,
  type Org,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let email: string;
beforeEach(async () => {
  org = await makeOrganization(api);
  email = `${unique("someone")}@example.com`;
});
const path = () => `/organizations/${org.name}/organization-memberships`;
const invite = (address = email) => org.owner.post(path(), resource("organization-memberships", { email: address }));

describe("the user of an invitation", () => {
  it("comes with the creation, and is the same in every answer", async () => {
    const answer = await invite();
    const membership = data(answer);
    // That is shown once.
    delete membership.attributes["invitation-url"];
    const { id } = membership.relationships.user.data;
    expect(id).toBe(membership.id.replace("ou-", "user-"));
    const user = {
      id,
      type: "users",
      attributes: expect.objectContaining({
        username: "",
        email,
        "is-service-account": false,
        "is-site-admin": false,
        "avatar-url": expect.stringMatching(/^data:/),
        permissions: {
          "can-create-organizations": false,
          "can-change-email": false,
          "can-change-username": false,
          "can-manage-user-tokens": false,
        },
      }),
      relationships: {},
    };
    expect(answer.body.included).toEqual([user]);
    for (const caller of [org.owner, await makeMember(api, org.name), api.admin]) {
      const shown = await caller.get(`/organization-memberships/${membership.id}?include=user`);
      expect(shown.body).toEqual({ data: membership, included: answer.body.included });
      const list = await caller.get(`${path()}?include=user&filter[status]=invited`);
      expect([list.body.data, list.body.included]).toEqual([[membership], answer.body.included]);
    }
    expect(data(await org.owner.get(`/organization-memberships/${membership.id}`))).toEqual(membership);
  });

  it("stands beside real users in one list", async () => {
    const member = await makeMember(api, org.name);
    const invited = data(await invite());
    const list = await org.owner.get(`${path()}?include=user`);
    const ids = list.body.included.map((user: Json) => user.id);
    expect(ids).toEqual(expect.arrayContaining([member.id, org.owner.id, invited.relationships.user.data.id]));
    const named = list.body.data.map((one: Json) => one.relationships.user.data.id);
    expect(ids.toSorted()).toEqual(named.toSorted());
  });

  it("is the real user's from the creation on where there is one", async () => {
    const ada = await makeUser(api);
    const answer = await invite(ada.email);
    expect(data(answer).relationships.user.data).toEqual({ id: ada.id, type: "users" });
    expect(answer.body.included).toEqual([data(await org.owner.get(`/users/${ada.id}`))]);
    expect(answer.body.included[0].attributes).not.toHaveProperty("email");
  });

  it("gives way to the real user who registers", async () => {
    const membership = data(await invite());
    const user = data(
      await api.admin.post(
        "/admin/users",
        resource("users", { username: unique("grace"), email: email.toUpperCase() }),
      ),
    );
    const shown = await org.owner.get(`/organization-memberships/${membership.id}?include=user`);
    expect(data(shown).relationships.user).toEqual({
      data: { id: user.id, type: "users" },
      links: { related: `/api/v2/users/${user.id}` },
    });
    expect(shown.body.included.map(({ id }: Json) => id)).toEqual([user.id]);
  });

  it("is nobody: not to be shown, given tokens, changed, or put into teams", async () => {
    const { id } = data(await invite()).relationships.user.data;
    expect((await api.admin.get(`/users/${id}`)).status).toBe(404);
    expect((await api.admin.post(`/users/${id}/authentication-tokens`)).status).toBe(404);
    expect((await api.admin.patch(`/admin/users/${id}`, resource("users", { "is-site-admin": true }))).status).toBe(
      404,
    );
    expect((await api.admin.delete(`/admin/users/${id}`)).status).toBe(404);
    const team = await makeTeam(api, org.name);
    for (const name of [id, email, ""]) {
      const body = { data: [{ type: "users", id: name }] };
      expect((await org.owner.post(`/teams/${team.id}/relationships/users`, body)).status).toBe(422);
    }
    expect(data(await api.admin.get(`/admin/users?q=${email}`))).toEqual([]);
  });

  it.each(["", "an address"])("goes by a name that no user can have: %s is refused", async (name) => {
    const answer = await api.admin.post(
      "/admin/users",
      resource("users", { username: name === "" ? "" : email, email: `${unique("x")}@example.com` }),
    );
    expect(answer.status).toBe(422);
  });
});
