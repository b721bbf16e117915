/** Operations on access holders. They must not write. */
import { implement } from "../../shared/context.ts";
import { accessHolders } from "./definition.ts";
import { authorizeHolders, parseHolderFilter, viewsOf } from "./rules.ts";
import { findHolderScope, listHolders } from "./store.ts";

export const accessHolderResource = implement(accessHolders, {
  async listAccessHolders({ context: { actor, database }, params, query }) {
    const { filterPermission: permission, filterKind: kind, page } = query;
    const filter = parseHolderFilter(query.filterProjectId, query.filterWorkspaceId);
    const found = await findHolderScope(database.reader, actor, params.organizationName, filter);
    const scope = authorizeHolders(found, filter);
    const { rows, totalCount, hiddenTeams } = await listHolders(
      database.reader,
      actor,
      scope,
      { permission, kind },
      page,
    );
    return { views: viewsOf(scope, permission, rows), totalCount, meta: { hidden: { teams: hiddenTeams } } };
  },
});
