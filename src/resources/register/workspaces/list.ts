/** Lists an organization's workspaces: one statement counts them, a second loads the page. See docs/performance.md. */
import { sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import { hasPermission } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import { type PreparedStatement, prepared } from "../../../database/prepared.ts";
import { notFound } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { standingSelection } from "../../shared/grants/reads.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { type OrganizationRow, toOrganizationView } from "../../identity/organizations/reads.ts";
import type { Context } from "../../shared/context.ts";
import { searchPage } from "./search-page.ts";
import {
  candidates,
  grantTables,
  type PageParameters,
  pageOf,
  type PageRow,
  type PageStrategy,
  type PageDepth,
  pageDepthOf,
  readRunsBit,
  type PageShape,
  sortColumns,
  pageRows,
} from "./readable.ts";
import { isNarrowed, type WorkspaceSearch } from "./search.ts";
import { workspaceViewIn } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

interface WorkspaceCounts {
  readonly inOrganization: number;
  /** In projects to which one of the caller's teams has access. */
  readonly inGrantedProjects: number;
  /** In other projects, but one of the caller's teams has access to the workspace itself. */
  readonly grantedIndividually: number;
}

type OrganizationWithCounts = OrganizationRow & WorkspaceCounts;

const organizationWithCounts = prepared<
  { nameKey: string; principal: string; readRunsBit: number },
  OrganizationWithCounts
>((db, p) => {
  const organizationId = sql<string>`(select id from open_organizations where name_key = ${p.nameKey})`;
  const grantedProjects = sql`select project_id from project_grants where (mask & ${p.readRunsBit}) <> 0`;
  const statement = sql<OrganizationWithCounts>`
    with ${grantTables(organizationId, p.principal)}
    select o.*, ${standingSelection(sql.ref("o.id"), p.principal)},
      (select coalesce(sum(workspace_count), 0) from projects where organization_id = o.id) as in_organization,
      (select coalesce(sum(workspace_count), 0) from projects where id in (${grantedProjects})) as in_granted_projects,
      (select count(*) from workspace_grants inner join workspaces as w on w.id = workspace_grants.workspace_id
        where (workspace_grants.mask & ${p.readRunsBit}) <> 0
          and w.project_id not in (${grantedProjects})) as granted_individually
    from open_organizations as o where o.name_key = ${p.nameKey}`;
  return { compile: () => statement.compile(db) };
});

/** Throws `not-found` unless the caller is a member of the organization. */
export async function loadOrganizationToList(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  name: string,
): Promise<{ organization: OrganizationView; counts: WorkspaceCounts }> {
  const [row] = await organizationWithCounts(tx, { nameKey: fold(name), principal: principalOf(actor), readRunsBit });
  const organization = row && toOrganizationView(actor, row);
  if (organization === undefined || !organization.standing.member) throw notFound("organization");
  const { inOrganization, inGrantedProjects, grantedIndividually } = row!;
  return {
    organization,
    counts: {
      inOrganization: Number(inOrganization),
      inGrantedProjects: Number(inGrantedProjects),
      grantedIndividually: Number(grantedIndividually),
    },
  };
}

const readableCountOf = (counts: WorkspaceCounts, readsAll: boolean): number =>
  readsAll ? counts.inOrganization : counts.inGrantedProjects + counts.grantedIndividually;

/** A walk also reads the unreadable workspaces that it passes; collecting reads all readable ones, whatever the page. */
function strategyFor(counts: WorkspaceCounts, search: WorkspaceSearch, readsAll: boolean): PageStrategy {
  if (readsAll) return "all";
  const readableCount = readableCountOf(counts, readsAll);
  if (isNarrowed(search) || readableCount === 0) return "collect";
  const walkedCount = (search.page.number * search.page.size * counts.inOrganization) / readableCount;
  return walkedCount < readableCount ? "walk" : "collect";
}

const unfilteredStatements = new Map<string, PreparedStatement<PageParameters, PageRow>>();

/** Compiled once per shape and depth, of which there are few. */
function unfilteredStatement(shape: PageShape, depth: PageDepth): PreparedStatement<PageParameters, PageRow> {
  const key = `${shape.strategy} ${shape.column} ${shape.descending} ${shape.fromEnd} ${depth?.rows} ${depth?.isPage}`;
  let statement = unfilteredStatements.get(key);
  if (statement === undefined) {
    statement = prepared<PageParameters, PageRow>((db, p, dialect) => {
      const source = sql`from ${candidates(shape, p.organizationId, [])}`;
      const text = sql<PageRow>`
        with ${grantTables(sql<string>`${p.organizationId}`, p.principal)},
        page as materialized (${pageOf(dialect, shape, source, p, depth)})
        ${pageRows(shape)}`;
      return { compile: () => text.compile(db) };
    });
    unfilteredStatements.set(key, statement);
  }
  return statement;
}

/** Reads pages in the second half of the list from its end, to skip fewer rows. */
async function loadUnfilteredPage(tx: Tx, shape: PageShape, p: PageParameters, total: number): Promise<PageRow[]> {
  const limit = Math.min(p.limit, Math.max(0, total - p.offset));
  const rowsAfterPage = total - p.offset - limit;
  if (shape.strategy !== "all" || rowsAfterPage >= p.offset)
    return unfilteredStatement({ ...shape, fromEnd: false }, pageDepthOf(p))(tx, p);
  const backwards = { ...p, limit, offset: Math.max(0, rowsAfterPage) };
  return unfilteredStatement({ ...shape, fromEnd: true }, pageDepthOf(backwards))(tx, backwards);
}

export async function listReadableWorkspaces(
  tx: Tx,
  { actor, options }: Pick<Context, "actor" | "options">,
  { organization, counts }: { organization: OrganizationView; counts: WorkspaceCounts },
  search: WorkspaceSearch,
): Promise<{ views: WorkspaceView[]; totalCount: number }> {
  const readsAll = hasPermission(organization.standing.organizationWideMask, "runs", "read");
  const shape: PageShape = {
    strategy: strategyFor(counts, search, readsAll),
    column: sortColumns[search.sort?.key ?? "name"],
    descending: search.sort?.descending ?? false,
  };
  const { number, size } = search.page;
  const parameters = {
    organizationId: organization.id,
    principal: principalOf(actor),
    limit: size,
    offset: (number - 1) * size,
  };
  const readableCount = readableCountOf(counts, readsAll);
  const { rows, totalCount } = isNarrowed(search)
    ? await searchPage(tx, shape, search, parameters, readableCount)
    : { rows: await loadUnfilteredPage(tx, shape, parameters, readableCount), totalCount: readableCount };
  return { views: rows.map((row) => workspaceViewIn(row, organization, options)), totalCount };
}
