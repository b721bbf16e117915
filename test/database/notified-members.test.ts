/** The migration replaces users as mail recipients by their memberships, and drops those who have left. */
import { CompiledQuery } from "kysely";
import { expect, it } from "vitest";
import { notifiedMembers } from "../../src/database/migrations/0032-notified-members.ts";
import { useApi } from "../support/api.ts";
import { data, makeMember, makeOrganization, makeUser, makeWorkspace, resource } from "../support/builders.ts";

const api = useApi();

it("keeps recipients who are still members of the organization", async () => {
  const org = await makeOrganization(api);
  const workspace = await makeWorkspace(api, org.name);
  const [ada, left] = [await makeMember(api, org.name), await makeUser(api)];
  const body = resource("notification-configurations", { name: "Mail", "destination-type": "email" });
  const { id } = data(await org.owner.post(`/workspaces/${workspace.id}/notification-configurations`, body));
  const copy = notifiedMembers.statements.find((statement) => statement.startsWith("INSERT INTO")) ?? "";
  await api.database.write(async (tx) => {
    for (const userId of [ada.id, left.id])
      await tx.db.executeQuery(
        CompiledQuery.raw(`INSERT INTO notification_configuration_users VALUES ('${org.id}', '${id}', '${userId}')`),
      );
    await tx.db.executeQuery(CompiledQuery.raw(copy));
  });
  const { users } = data(await org.owner.get(`/notification-configurations/${id}`)).relationships;
  expect(users.data).toEqual([{ type: "users", id: ada.id }]);
});
