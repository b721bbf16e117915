/** Loads what decides about a new workspace with one statement: its project, the organization's settings, and what else it refers to. */
import { sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf, type OrganizationStanding } from "../../../access/organization.ts";
import { hasPermission } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { invalid, notFound, relationshipFault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { ProjectView } from "../projects/definition.ts";
import { authorizeNewWorkspace, type ProjectViewRow, projectsForActor, toProjectView } from "../projects/reads.ts";
import { referenceFaults } from "./rules.ts";
import {
  lookUpReferences,
  type ReferenceCounts,
  referenceCounts,
  referencesFound,
  type ReferenceLookup,
  type ReferencesFound,
} from "./store.ts";

type OrganizationColumns = Pick<
  OrganizationTable,
  "allowForceDeleteWorkspaces" | "assessmentsEnforced" | "workspaceLimit"
>;

export interface ProjectOfNewWorkspace extends ProjectView, OrganizationColumns {
  readonly standing: OrganizationStanding;
}

interface PlaceRow extends ProjectViewRow, OrganizationColumns, ReferenceCounts {}

const findProjectAndReferences = prepared<
  Required<ReferenceLookup> & { organizationKey: string; projectId: string | null; principal: string },
  PlaceRow
>((db, query, dialect) =>
  projectsForActor(db, query.principal)
    .select(["o.allowForceDeleteWorkspaces", "o.assessmentsEnforced", "o.workspaceLimit"])
    .select(referenceCounts(sql.ref("o.id"), query))
    .where("o.nameKey", "=", query.organizationKey)
    .where("p.id", "=", sql<string>`coalesce(cast(${query.projectId} as text), o.default_project_id)`)
    // Not for a change: creates in one project wait for each other only while they commit.
    .modifyEnd(sql`${dialect.lockRows("o", "reference")} ${dialect.lockRows("p", "reference")}`),
);

/** The project can't be removed meanwhile. Without `projectId`: the organization's default one. Throws `not-found`, `forbidden` or `invalid`. */
export async function loadProjectForNewWorkspace(
  tx: Tx,
  context: Pick<Context, "actor">,
  { organizationName, projectId }: { readonly organizationName: string; readonly projectId: string | undefined },
  references: ReferenceLookup,
): Promise<{
  readonly project: Granted<ProjectOfNewWorkspace, "can-create-workspace">;
  readonly found: ReferencesFound;
}> {
  const { actor } = context;
  const { name = "", agentPoolId = null, oauthTokenId = null, sshKeyId = null } = references;
  const [row] = await findProjectAndReferences(tx, {
    organizationKey: fold(organizationName),
    projectId: projectId ?? null,
    principal: principalOf(actor),
    name,
    agentPoolId,
    oauthTokenId,
    sshKeyId,
  });
  if (row !== undefined) {
    const standing = checkedStandingOf(actor, row);
    if (!standing.member) throw notFound("organization");
    const project = authorizeNewWorkspace({ ...toProjectView(actor, row), standing }, projectId !== undefined);
    if (project !== undefined) return { project, found: referencesFound(row) };
  }
  const organization = await loadOrganization(tx, context, organizationName);
  // Only callers who can read every workspace of the organization may learn that a name is taken.
  const readsAll = hasPermission(organization.standing.organizationWideMask, "runs", "read");
  const taken = readsAll ? await lookUpReferences(tx, organization.id, { name }) : undefined;
  throw invalid([
    relationshipFault("project", "Project does not exist in this organization"),
    ...(taken === undefined ? [] : referenceFaults({ name }, taken)),
  ]);
}
