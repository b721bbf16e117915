/** The tag resource: a flat tag of an organization, which exists as long as a workspace has it. */
import { z } from "zod";
import type { TagTable } from "../../../database/schema/workspaces.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter, textParameter } from "../../../jsonapi/query.ts";
import { text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

export interface TagView extends TagTable, OrganizationFacts {}

export const tagName = text({
  min: 1,
  max: 255,
  pattern: /^[A-Za-z0-9_:-]+$/,
  sentence: "may only contain letters, numbers, dashes, underscores and colons",
});

const tagItem = z
  .object({
    type: z.literal("tags"),
    id: text({ max: 256 }).optional(),
    attributes: z.object({ name: tagName.optional() }).optional(),
  })
  .refine(({ id, attributes }) => Boolean(id) || attributes?.name !== undefined, {
    error: "must have an id or attributes.name",
  });
const tagsBody = z.object({ data: tagItem.array().max(1000) });
const example = { data: [{ type: "tags", attributes: { name: "production" } }] };
const changeNeeds = "admin access to the workspace";

export const tags = defineResource<TagView>()(({ readOnly, toOne }) => ({
  type: "tags",
  doc: "A flat tag of workspaces. A tag is deleted when the last workspace that has it is deleted or loses it.",
  id: (tag) => tag.id,
  version: (tag) => [tag.version, tag.organizationFactsVersion],
  attributes: {
    name: readOnly(tagName, "The name. It is unique in the organization and case-sensitive."),
    "created-at": readOnly(timestamp(), "When the tag was first used."),
    "instance-count": readOnly(wholeNumber(), "The number of workspaces with the tag.", { audited: false }),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", { id: (tag) => tag.organizationName }),
  },
  operations: {
    listWorkspaceTags: {
      method: "GET",
      path: "/workspaces/:workspace_id/relationships/tags",
      summary: "List a workspace's tags",
      needs: "read access to the workspace's runs",
      query: { paged: true, parameters: { q: searchParameter("the name") } },
      answer: "list",
    },
    addWorkspaceTags: {
      method: "POST",
      path: "/workspaces/:workspace_id/relationships/tags",
      summary: "Add tags to a workspace, by name or id",
      needs: changeNeeds,
      body: { custom: tagsBody },
      answer: "nothing",
      example,
    },
    removeWorkspaceTags: {
      method: "DELETE",
      path: "/workspaces/:workspace_id/relationships/tags",
      summary: "Remove tags from a workspace, by name or id",
      needs: changeNeeds,
      body: { custom: tagsBody },
      answer: "nothing",
      example,
    },
    listOrganizationTags: {
      method: "GET",
      path: "/organizations/:organization_name/tags",
      summary: "List an organization's tags",
      needs: "a member",
      query: {
        paged: true,
        sort: ["name", "created-at"],
        parameters: {
          q: searchParameter("the name"),
          "filter[exclude][taggable][id]": textParameter("Returns only tags that this workspace does not have."),
        },
      },
      answer: "list",
    },
    deleteOrganizationTags: {
      method: "DELETE",
      path: "/organizations/:organization_name/tags",
      summary: "Delete tags and remove them from all workspaces",
      needs: "an owner, a team with 'manage-workspaces', or the organization's token",
      body: { linkage: ["tags"] },
      answer: "nothing",
      example: { data: [{ type: "tags", id: "tag-1234567890abcdef" }] },
    },
    addTagToWorkspaces: {
      method: "POST",
      path: "/tags/:tag_id/relationships/workspaces",
      summary: "Add a tag to many workspaces",
      needs: "admin access to each of the workspaces",
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example: { data: [{ type: "workspaces", id: "ws-1234567890abcdef" }] },
    },
  },
}));
