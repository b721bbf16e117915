/** Access rules for tests. */
import type { Answer, Json } from "../../../support/api.ts";
import { data, type Org, resource, unique } from "../../../support/builders.ts";

export const everything = "forbid (principal, action, resource);";

export const createRule = ({ owner, name }: Org, attributes: object): Promise<Answer> =>
  owner.post(
    `/organizations/${name}/access-rules`,
    resource("access-rules", { name: unique("rule"), policy: everything, enforcement: "forbid", ...attributes }),
  );

export const makeRule = async (org: Org, attributes: object): Promise<Json> => data(await createRule(org, attributes));

export const removeRule = async ({ owner }: Org, { id }: Json): Promise<void> => {
  data(await owner.delete(`/access-rules/${id}`));
};

export const message = "Ask the platform team.";
export const ruleFor = (condition: string, scope = "principal, action, resource") =>
  `@message("${message}") forbid (${scope}) when { ${condition} };`;

/** Runs while the organization has the rule. */
export async function whileRuled<T>(of: Org, attributes: object, work: (rule: Json) => Promise<T>): Promise<T> {
  const rule = await makeRule(of, attributes);
  try {
    return await work(rule);
  } finally {
    await removeRule(of, rule);
  }
}
