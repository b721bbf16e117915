/** The capacity of an organization: the numbers of its queued and running jobs. */
import { sql } from "kysely";
import { principalOf } from "../../access/actor.ts";
import { checkedStandingOf } from "../../access/organization.ts";
import type { Tx } from "../../database/database.ts";
import { defineResource } from "../../jsonapi/define.ts";
import { wholeNumber } from "../../jsonapi/schemas.ts";
import { notFound } from "../../kernel/errors.ts";
import { fold } from "../../kernel/text.ts";
import { type Context, implement } from "../shared/context.ts";
import { standingColumns } from "../shared/grants/reads.ts";

interface CapacityView {
  readonly organizationName: string;
  readonly pending: number;
  readonly running: number;
}

const organizationCapacities = defineResource<CapacityView>()(({ readOnly, toOne }) => ({
  type: "organization-capacity",
  doc: "The numbers of an organization's queued and running plans and applies.",
  id: ({ organizationName }) => organizationName,
  attributes: {
    pending: readOnly(wholeNumber(), "The number of queued plans and applies."),
    running: readOnly(wholeNumber(), "The number of running plans and applies."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", { id: ({ organizationName }) => organizationName }),
  },
  operations: {
    showOrganizationCapacity: {
      method: "GET",
      path: "/organizations/:organization_name/capacity",
      summary: "Show the numbers of an organization's queued and running jobs",
      needs: "a member of the organization, or a token of it or of one of its teams",
      answer: "document",
    },
  },
}));

export const organizationCapacityResource = implement(organizationCapacities, {
  async showOrganizationCapacity({ context, params }) {
    const view = await capacityOf(context.database.reader, context, params.organizationName);
    if (view === undefined) throw notFound("organization");
    return { view };
  },
});

async function capacityOf(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationName: string,
): Promise<CapacityView | undefined> {
  const count = (status: string) =>
    sql<number>`(select count(*) from run_phases where organization_id = o.id and status = ${sql.lit(status)})`;
  const row = await tx.db
    .selectFrom("openOrganizations as o")
    .select(["o.id as organizationId", "o.name as organizationName"])
    .select([count("queued").as("pending"), count("running").as("running")])
    .select(standingColumns(sql.ref("o.id"), principalOf(actor)))
    .where("o.nameKey", "=", fold(organizationName))
    .executeTakeFirst();
  if (row === undefined || !checkedStandingOf(actor, row).member) return undefined;
  return { organizationName: row.organizationName, pending: Number(row.pending), running: Number(row.running) };
}
