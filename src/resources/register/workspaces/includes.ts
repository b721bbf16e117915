/** What is shown beside workspaces: each thing once, and never what the caller couldn't read by itself. */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import { effectiveTagBindings } from "../effective-tag-bindings/definition.ts";
import { organizations } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { projects } from "../projects/definition.ts";
import { readableProjects } from "../projects/reads.ts";
import type { Context } from "../../shared/context.ts";
import { effectiveOnWorkspaces } from "../tag-bindings/reads.ts";
import { teams } from "../../identity/teams/definition.ts";
import { readableTeams } from "../../identity/teams/reads.ts";
import { users } from "../../identity/users/definition.ts";
import { readableUsers } from "../../identity/users/reads.ts";
import type { WorkspaceView } from "./view.ts";

/** A run of another workspace sees one that shares its state for that alone: beside it, it is shown the state and nothing else. */
const isReadable = (view: WorkspaceView): boolean => workspacePermissions(view)["can-read-run"];

/** A statement for each kind of thing that is asked for and there. Undefined when nothing was asked for. */
export async function includedWith(
  tx: Tx,
  context: Context,
  views: readonly WorkspaceView[],
  wanted: ReadonlySet<string>,
): Promise<Included[] | undefined> {
  if (wanted.size === 0) return undefined;
  const [first] = views;
  if (first === undefined) return [];
  const included: Included[] = [];
  const readable = views.filter(isReadable);
  if (wanted.has("organization") && readable.length > 0) {
    included.push({ definition: organizations, view: await loadOrganization(tx, context, first.organizationName) });
  }
  if (wanted.has("project")) {
    const found = await readableProjects(
      tx,
      context.actor,
      first.organizationId,
      readable.map((view) => view.projectId),
    );
    included.push(...found.map((view) => ({ definition: projects, view })));
  }
  if (wanted.has("outputs")) {
    const shared = views.filter((view) => workspacePermissions(view)["can-read-state-outputs"]);
    const versionIds = shared.flatMap((view) => view.currentStateVersionId ?? []);
    if (versionIds.length > 0)
      included.push(...(await context.neighbours.outputsOf(tx, context, first.organizationId, versionIds)));
  }
  if (wanted.has("current_state_version")) {
    const ids = views.flatMap((view) => view.currentStateVersionId ?? []);
    if (ids.length > 0) included.push(...(await context.neighbours.statesOf(tx, context, ids)));
  }
  const withCommits = wanted.has("current_configuration_version.ingress_attributes");
  if (withCommits || wanted.has("current_configuration_version"))
    included.push(...(await context.neighbours.configurationsOf(tx, readable, withCommits)));
  if (wanted.has("readme")) {
    const ids = readable.flatMap((view) => view.readmeConfigurationVersionId ?? []);
    if (ids.length > 0) included.push(...(await context.neighbours.readmesOf(tx, context, ids)));
  }
  if (wanted.has("locked_by")) included.push(...(await lockHolders(tx, context, readable)));
  const ofRuns = [...wanted].filter((name) => name.startsWith("current_run")).map((name) => name.slice(12));
  if (ofRuns.length > 0) {
    const ids = readable.flatMap((view) => view.currentRunId ?? []);
    included.push(
      ...(await context.neighbours.runsOf(tx, context, ids, new Set(ofRuns.filter((name) => name !== "")))),
    );
  }
  return included;
}

/** The key-value tags in effect, where they are asked for: their ids on the views, and themselves beside them. */
export async function withBindings(
  tx: Tx,
  views: readonly WorkspaceView[],
  wanted: ReadonlySet<string>,
): Promise<{ views: WorkspaceView[]; bindings: Included[] }> {
  if (!wanted.has("effective_tag_bindings")) return { views: [...views], bindings: [] };
  const bindings = await effectiveOnWorkspaces(
    tx,
    views.filter(isReadable).map((view) => view.id),
  );
  const idsOf = (view: WorkspaceView) =>
    bindings.filter((binding) => binding.ownerId === view.id).map((binding) => binding.id);
  return {
    views: views.map((view) => ({ ...view, effectiveTagBindingIds: idsOf(view) })),
    bindings: bindings.map((view) => ({ definition: effectiveTagBindings, view })),
  };
}

async function lockHolders(tx: Tx, context: Context, views: readonly WorkspaceView[]): Promise<Included[]> {
  const idsOf = (type: string) =>
    views.filter((view) => view.lockedByType === type).flatMap((view) => view.lockedById ?? []);
  const [userIds, teamIds] = [idsOf("users"), idsOf("teams")];
  const included = await context.neighbours.runsOf(tx, context, idsOf("runs"), new Set());
  if (userIds.length > 0) {
    included.push(...(await readableUsers(tx, context, userIds)).map((view) => ({ definition: users, view })));
  }
  if (teamIds.length > 0) {
    included.push(...(await readableTeams(tx, context.actor, teamIds)).map((view) => ({ definition: teams, view })));
  }
  return included;
}
