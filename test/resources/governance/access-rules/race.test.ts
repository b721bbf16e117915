/** Rules that are written while access changes: what was committed was allowed by the rules committed before. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { resource } from "../../../support/builders.ts";
import { joining, projectGrant } from "../../../support/previews.ts";
import { createRule, makeRule } from "./support.ts";

const api = useApi();

it("no change of access is committed after a rule that forbids it", async () => {
  const org = await api.makeOrganization();
  const project = await api.makeProject(org.name);
  const member = await api.makeMember(org.name);
  for (let round = 0; round < 6; round += 1) {
    const teams = await Promise.all(Array.from({ length: 6 }, () => api.makeTeam(org.name)));
    const changes = teams.map(({ id }, index) =>
      index % 2 === 0 ? projectGrant("read", id, project.id) : joining(id, member.username),
    );
    const writing = makeRule(org, {});
    const answers = await Promise.all(changes.map(({ method, path, body }) => org.owner.send(method, path, body)));
    const rule = await writing;
    // The order of commits is that of the audit log's rows and of the events' organization lock.
    const rows = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "subjectId", "createdAt"])
      .where("organizationId", "=", org.id)
      .where("subjectId", "in", [rule.id, ...teams.map(({ id }) => id)])
      .execute();
    const created = rows.find(({ subjectId }) => subjectId === rule.id)?.createdAt ?? "";
    const later = rows.filter(({ action, createdAt }) => action === "teams.add-members" && createdAt > created);
    expect(later).toEqual([]);
    expect(answers.every(({ status }) => [200, 204, 403].includes(status))).toBe(true);
    // From now on, all are refused.
    const after = await Promise.all(changes.map(({ method, path, body }) => org.owner.send(method, path, body)));
    const refused = after.filter(({ status }) => status === 403).length;
    const done = answers.filter(({ status }) => status < 300).length;
    expect(refused).toBeGreaterThanOrEqual(changes.length - done);
    await org.owner.delete(`/access-rules/${rule.id}`);
  }
});

it("an owner who was removed while the rule waited for the organization's lock doesn't write it", async () => {
  const org = await api.makeOrganization();
  const rules = [await makeRule(org, { enabled: false }), await makeRule(org, { enabled: false })] as const;
  const locked = Promise.withResolvers<void>();
  const removal = api.database.write(async (tx) => {
    await tx.db
      .selectFrom("organizations as o")
      .select("o.id")
      .where("o.id", "=", org.id)
      .modifyEnd(tx.dialect.lockRows("o", "removal"))
      .execute();
    await tx.db
      .deleteFrom("teamMembers")
      .where("teamId", "=", org.ownersTeamId)
      .where("userId", "=", org.owner.id)
      .execute();
    locked.resolve();
    await sleep(500);
  });
  await locked.promise;
  const answers = await Promise.all([
    createRule(org, {}),
    org.owner.patch(`/access-rules/${rules[0].id}`, resource("access-rules", { enabled: true })),
    org.owner.delete(`/access-rules/${rules[1].id}`),
  ]);
  await removal;
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
});
