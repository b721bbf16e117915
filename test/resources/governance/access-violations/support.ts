/** Rules, scans and violations for tests. */
import { createVault } from "../../../../src/database/vault.ts";
import { jobs } from "../../../../src/jobs/index.ts";
import { BackgroundJobRunner } from "../../../../src/jobs/runner.ts";
import { operatorContext } from "../../../../src/service.ts";
import type { Api, Json } from "../../../support/api.ts";
import { data, type Org, resource, unique } from "../../../support/builders.ts";

export async function makeRule(org: Org, policy: string, attributes: object = {}): Promise<Json> {
  const body = resource("access-rules", { name: unique("rule"), policy, enforcement: "forbid", ...attributes });
  return data(await org.owner.post(`/organizations/${org.name}/access-rules`, body));
}

/** Runs the job and returns how many grants, seats and tokens it evaluated. */
export async function scan(api: Api): Promise<number> {
  const runner = new BackgroundJobRunner({
    database: api.audited,
    vault: createVault(Buffer.alloc(32, 7)),
    options: operatorContext(api.database, { organizationCreation: "site-admins" }, "test").options,
    jobs,
  });
  return (await runner.runNow("access-violations")).handled;
}

export async function violationsOf(org: Org, query = ""): Promise<Json> {
  const answer = await org.owner.get(`/organizations/${org.name}/access-violations${query}`);
  data(answer);
  return answer.body;
}
