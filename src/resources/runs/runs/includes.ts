/** What is shown beside runs: each thing once, and never what the caller couldn't read by itself. */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { isIdOf } from "../../../kernel/ids.ts";
import { organizationsBeside } from "../../identity/admin-organizations/reads.ts";
import { teams } from "../../identity/teams/definition.ts";
import { readableTeams } from "../../identity/teams/reads.ts";
import { users } from "../../identity/users/definition.ts";
import { readableUsers } from "../../identity/users/reads.ts";
import { workspaces } from "../../register/workspaces/definition.ts";
import { readableWorkspaces } from "../../register/workspaces/reads.ts";
import type { Administration } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { phasesBeside } from "../phases/reads.ts";
import { configurationsOfRuns } from "../configuration-versions/reads.ts";
import type { RunView } from "./view.ts";

/** A statement for each kind of thing that is asked for and there. Undefined when nothing was asked for. */
export async function includedWithRuns(
  tx: Tx,
  context: Context,
  views: readonly RunView[],
  wanted: ReadonlySet<string>,
): Promise<Included[] | undefined> {
  if (wanted.size === 0) return undefined;
  if (views.length === 0) return [];
  const ids = views.map((view) => view.id);
  const included: Included[] = [];
  for (const kind of ["plan", "apply"] as const)
    if (wanted.has(kind)) included.push(...(await phasesBeside(tx, context, kind, ids)));
  const people = [
    ...(wanted.has("created_by") ? views.map((view) => view.createdById) : []),
    ...(wanted.has("confirmed_by") ? views.map((view) => view.confirmedById) : []),
  ];
  included.push(...(await peopleOf(tx, context, people)));
  const withCommits = wanted.has("configuration_version.ingress_attributes");
  if (withCommits || wanted.has("configuration_version"))
    included.push(...(await configurationsOfRuns(tx, views, withCommits)));
  if ([...wanted].some((name) => name.startsWith("workspace"))) {
    const found = await readableWorkspaces(
      tx,
      context,
      views.map((view) => view.workspaceId),
    );
    included.push(...found.map((view) => ({ definition: workspaces, view })));
  }
  return included;
}

async function peopleOf(tx: Tx, context: Context, given: readonly (string | null)[]): Promise<Included[]> {
  const ids = given.filter((id) => id !== null);
  const [userIds, teamIds] = [ids.filter((id) => !isIdOf("teams", id)), ids.filter((id) => isIdOf("teams", id))];
  const included: Included[] = [];
  if (userIds.length > 0)
    included.push(...(await readableUsers(tx, context, userIds)).map((view) => ({ definition: users, view })));
  if (teamIds.length > 0)
    included.push(...(await readableTeams(tx, context.actor, teamIds)).map((view) => ({ definition: teams, view })));
  return included;
}

/** The same for site admins, who see the organizations too. */
export async function includedForAdmins(
  tx: Tx,
  context: Context,
  admin: Administration,
  views: readonly RunView[],
  wanted: ReadonlySet<string>,
): Promise<Included[] | undefined> {
  const included = await includedWithRuns(tx, context, views, wanted);
  const withOwners = wanted.has("workspace.organization.owners");
  if (included === undefined || !(withOwners || wanted.has("workspace.organization"))) return included;
  const ids = [...new Set(views.map((view) => view.organizationId))];
  return [...included, ...(await organizationsBeside(tx, context, admin, ids, withOwners))];
}
