/** Operations on reach. They must not write. */
import { nowMs } from "../../../kernel/time.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { startExport } from "../../identity/authentication-tokens/csv-exports.ts";
import { type Context, implement } from "../../shared/context.ts";
import { reaches } from "./definition.ts";
import { reachSearchFor, authorizeReach, metaOf, subjectOf, viewOf, visibleIn } from "./rules.ts";
import { findReached } from "./store.ts";
import { findSubject, type SubjectReference } from "./subject.ts";
import { tableOf } from "./table.ts";

interface ReachQuery {
  readonly page: Page;
  readonly sort: Sort<"name"> | undefined;
  readonly filterPermission: string | undefined;
}

export const reachResource = implement(reaches, {
  listTeamReach: ({ context, params, query, asTable }) =>
    listReach(context, { by: "team", id: params.teamId }, query, asTable),
  listUserReach: ({ context, params, query, asTable }) => {
    const organizationName = query.filterOrganizationName ?? "";
    return listReach(context, { by: "user", id: params.userId, organizationName }, query, asTable);
  },
  listTokenReach: ({ context, params, query, asTable }) => {
    const { filterOrganizationName: organizationName } = query;
    return listReach(context, { by: "token", id: params.tokenId, organizationName }, query, asTable);
  },
});

async function listReach(context: Context, reference: SubjectReference, query: ReachQuery, asTable: boolean) {
  const { actor, database } = context;
  const { filterPermission: permission, page } = query;
  const row = await findSubject(database.reader, actor, reference, permission);
  const subject = subjectOf(actor, authorizeReach(actor, reference, row), nowMs());
  const search = reachSearchFor(actor, subject, permission);
  const descending = query.sort?.descending ?? false;
  if (asTable)
    return startExport(
      context,
      subject.organizationId,
      tableOf(database.reader, subject, search, descending),
      async (now) => authorizeReach(now, reference, await findSubject(database.reader, now, reference, permission)),
    );
  const window = { descending, limit: page.size, offset: (page.number - 1) * page.size };
  const found = subject.refused === undefined ? await findReached(database.reader, search, window) : [];
  return {
    views: found.map((target) => viewOf(subject, target)),
    totalCount: visibleIn(subject.tallies),
    meta: metaOf(subject),
    until: subject.until,
    // The end of a token is no change of an organization.
    ...(reference.by !== "token" && { changesWith: subject.organizationId }),
  };
}
