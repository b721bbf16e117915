/** How busy what executes an organization's runs is: counts that follow from its runs. */
import { sql } from "kysely";
import { principalOf } from "../../access/actor.ts";
import { standingOf } from "../../access/organization.ts";
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
  doc: "How busy what executes an organization's runs is.",
  id: ({ organizationName }) => organizationName,
  attributes: {
    pending: readOnly(wholeNumber(), "How many plans and applies wait to be executed."),
    running: readOnly(wholeNumber(), "How many are executed."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", { id: ({ organizationName }) => organizationName }),
  },
  operations: {
    showOrganizationCapacity: {
      method: "GET",
      path: "/organizations/:organization_name/capacity",
      summary: "Show how busy what executes an organization's runs is",
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

/** How many jobs of an organization wait, and how many are executed. One statement; undefined where the caller may not know of it. */
async function capacityOf(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationName: string,
): Promise<CapacityView | undefined> {
  const count = (status: string) =>
    sql<number>`(select count(*) from run_phases where organization_id = o.id and status = ${sql.lit(status)})`;
  const row = await tx.db
    .selectFrom("organizations as o")
    .select(["o.id as organizationId", "o.name as organizationName"])
    .select([count("queued").as("pending"), count("running").as("running")])
    .select(standingColumns(sql.ref("o.id"), principalOf(actor)))
    .where("o.nameKey", "=", fold(organizationName))
    .executeTakeFirst();
  if (row === undefined || !standingOf(actor, row).member) return undefined;
  return { organizationName: row.organizationName, pending: Number(row.pending), running: Number(row.running) };
}
