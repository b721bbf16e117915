/** The reserved tag key resource: a tag key with a meaning in the whole organization. */
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { ReservedTagKeyTable } from "../../../database/schema/workspaces.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

export interface ReservedTagKeyView extends ReservedTagKeyTable, OrganizationFacts {
  readonly standing: OrganizationStanding;
}

/** Clients search for "Key is invalid". */
const key = text({
  min: 1,
  max: 128,
  pattern: /^[A-Za-z0-9_:-]+$/,
  sentence: "is invalid: it may only contain letters, numbers, dashes, underscores and colons",
});

export const reservedTagKeys = defineResource<ReservedTagKeyView>()(({ required, optional, readOnly, toOne }) => ({
  type: "reserved-tag-keys",
  doc: "A tag key with a fixed meaning in the whole organization.",
  id: (reserved) => reserved.id,
  version: (reserved) => [reserved.version, reserved.organizationFactsVersion],
  attributes: {
    key: required(key, "The key. It is unique in the organization and case-sensitive."),
    "disable-overrides": optional(flag(), "If true, workspaces can't override their project's value of this key.", {
      default: false,
    }),
    "created-at": readOnly(timestamp(), "When the key was reserved."),
    "updated-at": readOnly(timestamp(), "When the reserved key was last changed.", { audited: false }),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (reserved) => reserved.organizationName,
      related: (reserved) => `/api/v2/organizations/${reserved.organizationName}`,
    }),
  },
  operations: {
    createReservedTagKey: {
      method: "POST",
      path: "/organizations/:organization_name/reserved-tag-keys",
      summary: "Reserve a tag key",
      needs: "an owner, or the organization's token",
      body: "create",
      answer: "created",
      example: { data: { type: "reserved-tag-keys", attributes: { key: "cost-center", "disable-overrides": true } } },
    },
    listReservedTagKeys: {
      method: "GET",
      path: "/organizations/:organization_name/reserved-tag-keys",
      summary: "List reserved tag keys",
      needs: "a member",
      query: { paged: true },
      answer: "list",
    },
    updateReservedTagKey: {
      method: "PATCH",
      path: "/reserved-tag-keys/:reserved_tag_key_id",
      summary: "Update a reserved tag key",
      needs: "an owner, or the organization's token",
      body: "update",
      answer: "document",
      example: { data: { type: "reserved-tag-keys", attributes: { "disable-overrides": false } } },
    },
    deleteReservedTagKey: {
      method: "DELETE",
      path: "/reserved-tag-keys/:reserved_tag_key_id",
      summary: "Delete a reserved tag key",
      needs: "an owner, or the organization's token",
      answer: "nothing",
    },
  },
}));
