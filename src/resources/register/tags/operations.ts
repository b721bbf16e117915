/** Operations on tags: load → authorize → decide → write. */
import type { Granted } from "../../../access/granted.ts";
import { RetryTransaction, type Tx } from "../../../database/database.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { recordEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { authorizeWorkspace, loadWorkspace, loadWorkspaces } from "../workspaces/reads.ts";
import type { WorkspaceView } from "../workspaces/view.ts";
import { rewriteTagNames } from "../workspaces/writes.ts";
import { tags } from "./definition.ts";
import { tagReferencesIn, splitTagNames, refuseTooManyTags, unknownIdFaults } from "./rules.ts";
import {
  areAllTaggedWorkspaces,
  deleteTags,
  linkTags,
  listTagRows,
  lockTaggedWorkspaces,
  lockTags,
  recountTags,
  unlinkTags,
} from "./store.ts";
import { type ResolvedTag, resolveTags } from "./writes.ts";

export const tagResource = implement(tags, {
  async listWorkspaceTags({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = await loadWorkspace(tx, context, params);
    return listTagRows(tx, workspace.organizationId, {
      page: query.page,
      nameText: query.q,
      workspaceId: workspace.id,
    });
  },

  async addWorkspaceTags({ context, params, body }) {
    return context.database.write(async (tx) => {
      const workspace = await workspaceToTag(tx, context, params.workspaceId);
      const requested = await resolveTags(tx, workspace, body.data, "/data");
      const before = new Set(splitTagNames(workspace.tagNames));
      const added = requested.filter((tag) => !before.has(tag.name));
      if (added.length === 0) return;
      refuseTooManyTags(workspace.tagNames, added.length);
      await linkTags(tx, [workspace], idsOf(added));
      await recountTags(tx, workspace.organizationId, idsOf(added));
      await rewriteTagNames(tx, [workspace.id]);
      await recordTags(tx, context, workspace, "add-tags", { after: { tags: namesOf(added) } });
    });
  },

  async removeWorkspaceTags({ context, params, body }) {
    return context.database.write(async (tx) => {
      const workspace = await workspaceToTag(tx, context, params.workspaceId);
      const lockedTags = await lockTags(tx, workspace.organizationId, tagReferencesIn(body.data));
      throwIfInvalid(unknownIdFaults(body.data, new Set(idsOf(lockedTags))));
      const before = new Set(splitTagNames(workspace.tagNames));
      const removed = lockedTags.filter((tag) => before.has(tag.name));
      if (removed.length === 0) return;
      await unlinkTags(tx, workspace, idsOf(removed));
      await recountTags(tx, workspace.organizationId, idsOf(removed));
      await rewriteTagNames(tx, [workspace.id]);
      await recordTags(tx, context, workspace, "remove-tags", { before: { tags: namesOf(removed) } });
    });
  },

  async listOrganizationTags({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { filterExcludeTaggableId: workspaceId } = query;
    return listTagRows(tx, organization.id, {
      page: query.page,
      sort: query.sort,
      nameText: query.q,
      ...(workspaceId && { exclude: { workspaceId, actor: context.actor, organization } }),
    });
  },

  async deleteOrganizationTags({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-delete-tags",
      );
      const taggedWorkspaceIds = await lockTaggedWorkspaces(tx, organization.id, idsOf(body));
      const lockedTags = await lockTags(tx, organization.id, { ids: idsOf(body) });
      throwIfInvalid(unknownIdFaults(body, new Set(idsOf(lockedTags))));
      if (lockedTags.length === 0) return;
      if (!(await areAllTaggedWorkspaces(tx, organization.id, idsOf(lockedTags), taggedWorkspaceIds)))
        throw new RetryTransaction("a tag was added concurrently");
      await deleteTags(tx, organization, idsOf(lockedTags));
      await rewriteTagNames(tx, taggedWorkspaceIds);
      const events = lockedTags.map((tag) => ({
        organizationId: organization.id,
        verb: "delete",
        subject: { type: "tags", id: tag.id },
        before: { name: tag.name, "instance-count": tag.instanceCount },
      }));
      await recordEvents(tx, context, events);
    });
  },

  async addTagToWorkspaces({ context, params, body }) {
    return context.database.write(async (tx) => {
      const workspaceIds = new Set(idsOf(body));
      const visible = await loadWorkspaces(tx, context, [...workspaceIds]);
      const [tag] = await lockTags(tx, visible[0]?.organizationId ?? "", { ids: [params.tagId] });
      const inOrganization = visible.filter((workspace) => workspace.organizationId === tag?.organizationId);
      if (tag === undefined || inOrganization.length === 0 || inOrganization.length < workspaceIds.size)
        throw notFound("tag or workspace");
      const workspaces = inOrganization.map((workspace) => authorizeWorkspace(workspace, "can-manage-tags", "hide"));
      const untagged = workspaces.filter((workspace) => !splitTagNames(workspace.tagNames).includes(tag.name));
      if (untagged.length === 0) return;
      await linkTags(tx, untagged, [tag.id]);
      await recountTags(tx, tag.organizationId, [tag.id]);
      await rewriteTagNames(tx, idsOf(untagged));
      await recordEvent(tx, context, {
        organizationId: tag.organizationId,
        verb: "add-workspaces",
        subject: { type: "tags", id: tag.id },
        after: { workspaces: idsOf(untagged) },
      });
    });
  },
});

const idsOf = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id);
const namesOf = (resolved: readonly ResolvedTag[]): string[] => resolved.map(({ name }) => name);

/** Locked, so that tag counters stay exact. Throws `not-found`. */
async function workspaceToTag(
  tx: Tx,
  context: Context,
  workspaceId: string,
): Promise<Granted<WorkspaceView, "can-manage-tags">> {
  return authorizeWorkspace(await loadWorkspace(tx, context, { workspaceId }, "change"), "can-manage-tags", "hide");
}

async function recordTags(
  tx: Tx,
  context: Context,
  { organizationId, id }: WorkspaceView,
  verb: "add-tags" | "remove-tags",
  change: { readonly before?: object; readonly after?: object },
): Promise<void> {
  await recordEvent(tx, context, { organizationId, verb, subject: { type: "workspaces", id }, ...change });
}
