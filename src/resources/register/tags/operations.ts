/** Operations on tags: load → authorize → decide → write. */
import { type RawBuilder, sql } from "kysely";
import { holdsOrganization } from "../../../access/organization.ts";
import { grant } from "../../../access/granted.ts";
import { Overtaken, type Tx } from "../../../database/database.ts";
import { notFound, refuseIfAny } from "../../../kernel/errors.ts";
import { recordEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { grantWorkspace, loadWorkspace, loadWorkspaces, readableCondition } from "../workspaces/reads.ts";
import { tags, type TagItems } from "./definition.ts";
import {
  carryAll,
  deleteTags,
  linkTags,
  listTagRows,
  lockCarriers,
  lockTags,
  recountTags,
  rewriteTagNames,
  unlinkTags,
} from "./store.ts";
import { refuseTooMany, resolveTags } from "./writes.ts";

export const tagResource = implement(tags, {
  async listWorkspaceTags({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = await loadWorkspace(tx, context, params);
    return listTagRows(tx, workspace.organizationId, { page: query.page, part: query.q, workspaceId: workspace.id });
  },

  async addWorkspaceTags({ context, params, body }) {
    return context.database.write(async (tx) => {
      const workspace = grantWorkspace(await loadWorkspace(tx, context, params, true), "can-manage-tags", "hide");
      const wanted = await resolveTags(tx, workspace.organizationId, body.data, "/data");
      const before = new Set(workspace.tagNames.split(","));
      const added = wanted.filter((tag) => !before.has(tag.name));
      if (added.length === 0) return;
      refuseTooMany(workspace.tagNames, added.length);
      await linkTags(
        tx,
        workspace.organizationId,
        [workspace.id],
        added.map((tag) => tag.id),
      );
      await recount(
        tx,
        workspace,
        added.map((tag) => tag.id),
      );
      await recordTags(tx, context, workspace, { verb: "add-tags", names: added.map((tag) => tag.name) });
    });
  },

  async removeWorkspaceTags({ context, params, body }) {
    return context.database.write(async (tx) => {
      const workspace = grantWorkspace(await loadWorkspace(tx, context, params, true), "can-manage-tags", "hide");
      const found = await lockTags(tx, workspace.organizationId, namedIn(body.data));
      refuseIfAny(unknownIds(body.data, new Set(found.map((tag) => tag.id))));
      const carried = new Set(workspace.tagNames.split(","));
      const removed = found.filter((tag) => carried.has(tag.name));
      if (removed.length === 0) return;
      await unlinkTags(
        tx,
        workspace.id,
        removed.map((tag) => tag.id),
      );
      await recount(
        tx,
        workspace,
        removed.map((tag) => tag.id),
      );
      await recordTags(tx, context, workspace, { verb: "remove-tags", names: removed.map((tag) => tag.name) });
    });
  },

  async listOrganizationTags({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    return listTagRows(tx, organization.id, {
      page: query.page,
      sort: query.sort,
      part: query.q,
      except: query.filterExcludeTaggableId && readableWorkspace(context, organization, query.filterExcludeTaggableId),
    });
  },

  async deleteOrganizationTags({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = await loadOrganization(tx, context, params.organizationName);
      const { standing } = organization;
      grant(organization, {
        thing: "organization",
        permission: "can-delete-tags",
        visible: standing.member,
        allowed: standing.owner || holdsOrganization(standing, "manage-workspaces"),
        needs: "the organization permission 'manage-workspaces'",
      });
      const wanted = body.map((item) => item.id);
      const affected = await lockCarriers(tx, organization.id, wanted);
      const found = await lockTags(tx, organization.id, { ids: wanted });
      refuseIfAny(unknownIds(body, new Set(found.map((tag) => tag.id))));
      const ids = found.map((tag) => tag.id);
      if (ids.length === 0) return;
      if (!(await carryAll(tx, organization.id, ids, affected))) throw new Overtaken("a tag was added meanwhile");
      await deleteTags(tx, organization.id, ids);
      await rewriteTagNames(tx, tx.dialect.isOneOf(sql.ref("id"), affected));
      const events = found.map((tag) => ({
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
      const found = await loadWorkspaces(
        tx,
        context,
        body.map((item) => item.id),
      );
      const [tag] = await lockTags(tx, found[0]?.organizationId ?? "", { ids: [params.tagId] });
      const workspaces = found.filter((workspace) => workspace.organizationId === tag?.organizationId);
      if (tag === undefined || workspaces.length === 0 || workspaces.length < new Set(body.map((item) => item.id)).size)
        throw notFound("tag or workspace");
      for (const workspace of workspaces) grantWorkspace(workspace, "can-manage-tags", "hide");
      const ids = workspaces
        .filter((workspace) => !workspace.tagNames.split(",").includes(tag.name))
        .map((workspace) => workspace.id);
      if (ids.length === 0) return;
      await linkTags(tx, tag.organizationId, ids, [tag.id]);
      await recountTags(tx, tag.organizationId, [tag.id]);
      await rewriteTagNames(tx, tx.dialect.isOneOf(sql.ref("id"), ids));
      await recordEvent(tx, context, {
        organizationId: tag.organizationId,
        verb: "add-workspaces",
        subject: { type: "tags", id: tag.id },
        after: { workspaces: ids },
      });
    });
  },
});

interface Tagged {
  readonly id: string;
  readonly organizationId: string;
}

async function recount(tx: Tx, workspace: Tagged, tagIds: readonly string[]): Promise<void> {
  await recountTags(tx, workspace.organizationId, tagIds);
  await rewriteTagNames(tx, sql`id = ${workspace.id}`);
}

async function recordTags(
  tx: Tx,
  context: Context,
  workspace: Tagged,
  { verb, names }: { verb: string; names: string[] },
): Promise<void> {
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb,
    subject: { type: "workspaces", id: workspace.id },
    ...(verb === "add-tags" ? { after: { tags: names } } : { before: { tags: names } }),
  });
}

function namedIn(items: TagItems): { ids: string[]; names: string[] } {
  return {
    ids: items.flatMap((item) => item.id ?? []),
    names: items.flatMap((item) => (item.id === undefined ? (item.attributes?.name ?? []) : [])),
  };
}

/** An id must exist; a name that no tag has is ignored. */
function unknownIds(items: readonly { readonly id?: string | undefined }[], known: ReadonlySet<string>) {
  return items.flatMap((item, index) =>
    item.id === undefined || known.has(item.id)
      ? []
      : [{ pointer: `/data/${index}/id`, detail: `Tag '${item.id}' does not exist in this organization` }],
  );
}

/** One workspace, as far as the caller may read it: of others it must not learn the tags. */
function readableWorkspace(context: Context, organization: OrganizationView, id: string): RawBuilder<unknown> {
  const readable = readableCondition(context.actor, organization) ?? sql`1 = 1`;
  return sql`(select w.id from workspaces as w where w.id = ${id} and ${readable})`;
}
