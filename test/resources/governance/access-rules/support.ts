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
