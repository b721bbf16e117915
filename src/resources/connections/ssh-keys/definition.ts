/** An SSH key of an organization, for fetching modules. The private key is never returned. */
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { SshKeyTable } from "../../../database/schema/connections.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

export interface SshKeyView extends Omit<SshKeyTable, "value">, OrganizationFacts {
  readonly standing: OrganizationStanding;
}

const valueMax = 16_384;

const name = text({ min: 1, max: 90, pattern: /\S/, sentence: "can't be blank" });
const value = text({ min: 1, max: valueMax, pattern: /\S/, sentence: "can't be blank" });
const writers = "an owner, a team with 'manage-vcs-settings', or the organization's token";
const readers = "a member of the organization, or a token of it or of one of its teams";

export const sshKeys = defineResource<SshKeyView>()(({ required, readOnly, toOne }) => ({
  type: "ssh-keys",
  doc: "A private key with which workspaces fetch modules. Its value is stored encrypted and never shown.",
  id: (key) => key.id,
  version: (key) => [key.version, key.organizationFactsVersion],
  attributes: {
    name: required(name, "Unique in the organization, ignoring case.", { folded: true }),
    value: required(value, "The private key; never shown.", {
      shown: false,
      audited: false,
      column: false,
    }),
    "created-at": readOnly(timestamp(), "When it was added."),
  },
  relationships: {
    organization: toOne("organizations", "The organization that owns it.", {
      id: (key) => key.organizationName,
      related: (key) => `/api/v2/organizations/${key.organizationName}`,
    }),
  },
  links: (key) => ({ self: `/api/v2/ssh-keys/${key.id}` }),
  operations: {
    listSshKeys: {
      method: "GET",
      path: "/organizations/:organization_name/ssh-keys",
      summary: "List SSH keys, by name",
      needs: readers,
      query: { paged: true },
      answer: "list",
    },
    createSshKey: {
      method: "POST",
      path: "/organizations/:organization_name/ssh-keys",
      summary: "Add an SSH key",
      needs: writers,
      body: "create",
      answer: "created",
      example: { data: { type: "ssh-keys", attributes: { name: "modules", value: "a private key" } } },
    },
    showSshKey: {
      method: "GET",
      path: "/ssh-keys/:ssh_key_id",
      summary: "Show an SSH key, without its value",
      needs: readers,
      answer: "document",
    },
    updateSshKey: {
      method: "PATCH",
      path: "/ssh-keys/:ssh_key_id",
      summary: "Rename an SSH key, or replace its value",
      needs: writers,
      body: "update",
      answer: "document",
      example: { data: { type: "ssh-keys", attributes: { name: "private modules" } } },
    },
    deleteSshKey: {
      method: "DELETE",
      path: "/ssh-keys/:ssh_key_id",
      summary: "Delete an SSH key; workspaces that use it then have none",
      needs: writers,
      answer: "nothing",
    },
  },
}));
