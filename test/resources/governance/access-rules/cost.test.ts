/** What rules cost a change of access: no statement without enabled rules, at most two with fifty. */
import { expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, type Org } from "../../../support/builders.ts";
import { projectGrant } from "../../../support/previews.ts";
import { makeRule } from "./support.ts";

const api = useApi();

async function statementsOfGrant(org: Org, projectId: string): Promise<number> {
  const team = await api.makeTeam(org.name);
  const { path, body } = projectGrant("read", team.id, projectId);
  await org.owner.get(`/teams/${team.id}`);
  const before = api.database.statementCount();
  data(await org.owner.post(path, body));
  return api.database.statementCount() - before;
}

it("no statement more without enabled rules, at most two more with fifty", async () => {
  const org = await api.makeOrganization();
  const project = await api.makeProject(org.name);
  const without = await statementsOfGrant(org, project.id);
  const disabled = await makeRule(org, { enabled: false });
  expect(await statementsOfGrant(org, project.id)).toBe(without);
  data(await org.owner.delete(`/access-rules/${disabled.id}`));
  for (let count = 0; count < 50; count += 1)
    await makeRule(org, {
      policy: `forbid (principal, action == Action::"grant", resource is Project) when { resource.name == "none-${count}" };`,
    });
  expect(await statementsOfGrant(org, project.id)).toBeLessThanOrEqual(without + 2);
});
