/** A request that names more people than one statement can have parameters for. */
import { expect, it } from "vitest";
import type { AccessRequestTable } from "../../../../src/database/schema/access-requests.ts";
import { insertRequest } from "../../../../src/resources/governance/access-requests/store.ts";
import { useApi } from "../../../support/api.ts";

const api = useApi();
const peopleMax = 20_000;

it("stores everybody who would gain access", async () => {
  const org = await api.makeOrganization();
  const now = new Date().toISOString();
  const row: AccessRequestTable = {
    id: "areq-1234567890abcdef",
    organizationId: org.id,
    requesterId: org.owner.id,
    offerId: null,
    status: "pending",
    reason: "Everybody",
    changes: "[]",
    durationSeconds: null,
    lapsesAt: now,
    decidedAt: null,
    decidedById: null,
    decisionComment: null,
    effects: null,
    rules: "[]",
    createdAt: now,
    version: 1,
  };
  const beneficiaryUserIds = Array.from({ length: peopleMax }, (_, position) => `user-${position}`);
  await api.database.write((tx) =>
    insertRequest(tx, {} as Parameters<typeof insertRequest>[1], row, [], {
      beneficiaryUserIds,
      beneficiaryTeamIds: [],
      approverTeamIds: [],
      namedUserIds: [],
    }),
  );
  const { count } = await api.database.reader.db
    .selectFrom("accessRequestParties")
    .select((select) => select.fn.countAll().as("count"))
    .where("requestId", "=", row.id)
    .executeTakeFirstOrThrow();
  expect(Number(count)).toBe(peopleMax);
});
