/** The expiry of tokens: by default two years after their creation. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeTeam, type Org, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let paths: Record<string, string>;
beforeAll(async () => {
  org = await makeOrganization(api);
  const team = await makeTeam(api, org.name);
  paths = {
    "a user's": `/users/${org.owner.id}/authentication-tokens`,
    "a team's single one": `/teams/${team.id}/authentication-token`,
    "a team's": `/teams/${team.id}/authentication-tokens`,
    "an organization's": `/organizations/${org.name}/authentication-token`,
    "the audit log's": `/organizations/${org.name}/authentication-token?token=audit-trails`,
  };
});
const kinds = ["a user's", "a team's single one", "a team's", "an organization's", "the audit log's"];
const make = async (kind: string, attributes?: object) =>
  data(await org.owner.post(paths[kind] ?? "", attributes && resource("authentication-tokens", attributes))).attributes;
const twoYearsAfter = (instant: string) => {
  const date = new Date(instant);
  return new Date(date.setUTCFullYear(date.getUTCFullYear() + 2)).toISOString();
};

describe.each(kinds)("%s token", (kind) => {
  it.each([
    ["no body", undefined],
    ["no expiry", { description: null }],
  ])("expires two years after it was created: %s", async (_, sent) => {
    const created = await make(kind, sent);
    expect(created["expired-at"]).toBe(twoYearsAfter(created["created-at"]));
  });

  it("expires at the requested time", async () => {
    expect(await make(kind, { "expired-at": "2099-01-31T13:00:00+01:00" })).toMatchObject({
      "expired-at": "2099-01-31T12:00:00.000Z",
    });
  });

  it("never expires for null", async () => {
    expect(await make(kind, { "expired-at": null })).toMatchObject({ "expired-at": null });
  });
});
