import { expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { details, makeOrganization, makeWorkspace } from "../../../support/builders.ts";

const api = useApi({ options: { edition: "hosted" } });

it("the hosted edition has no data retention: every endpoint answers 404, to everybody", async () => {
  const org = await makeOrganization(api);
  const workspace = await makeWorkspace(api, org.name);
  expect(workspace.relationships["data-retention-policy"]).toBeUndefined();
  const body = { data: { type: "data-retention-policy-dont-deletes" } };
  for (const path of [`/workspaces/${workspace.id}`, `/organizations/${org.name}`]) {
    for (const [method, sent] of [["GET"], ["POST", body], ["PATCH", body], ["DELETE"]] as const) {
      for (const caller of [org.owner, api.admin]) {
        const answer = await caller.send(method, `${path}/relationships/data-retention-policy`, sent);
        expect([answer.status, details(answer)]).toEqual([
          404,
          ["There are no data retention policies in the hosted edition of this service."],
        ]);
      }
    }
  }
});
