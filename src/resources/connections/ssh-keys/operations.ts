/** Operations on SSH keys: load → authorize → decide → write. Values are stored encrypted and never recorded in the audit log. */
import { changedColumns } from "../../../jsonapi/columns.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { factsOf } from "../../identity/organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { disconnectWorkspaces, lockConnected } from "../../register/workspaces/writes.ts";
import { sshKeys, type SshKeyView } from "./definition.ts";
import { authorizeSshKey, loadSshKey, sshKeysNeed } from "./reads.ts";
import { nameTaken, newSshKey, valueOwner } from "./rules.ts";
import { deleteSshKeyRow, insertSshKey, isSshKeyNameTaken, listSshKeyRows, updateSshKeyRow } from "./store.ts";

export const sshKeyResource = implement(sshKeys, {
  async listSshKeys({ context, params, query }) {
    const tx = context.database.reader;
    return listSshKeyRows(tx, await loadOrganization(tx, context, params.organizationName), query.page);
  },

  async createSshKey({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-update-ssh-keys",
        sshKeysNeed,
      );
      const { attributes } = body;
      const identity = { id: newId("ssh-keys"), organizationId: organization.id, createdAt: now() };
      const row = newSshKey(attributes, identity);
      throwIfInvalid((await isSshKeyNameTaken(tx, organization.id, row.name)) ? [nameTaken()] : []);
      await insertSshKey(tx, organization, { ...row, value: encryptValue(context, row.id, attributes.value) });
      const view = { ...row, ...factsOf(organization), standing: organization.standing };
      await recordChange(tx, context, sshKeys, { after: view });
      return { view };
    });
  },

  async showSshKey({ context, params }) {
    return { view: await loadSshKey(context.database.reader, context, params.sshKeyId) };
  },

  async updateSshKey({ context, params, body }) {
    return context.database.write(async (tx) => {
      const key = authorizeSshKey(await loadSshKey(tx, context, params.sshKeyId, "change"));
      context.ifMatch.check(key);
      const { value } = body.attributes;
      const { changes, changed } = updateOf<SshKeyView>(key, changedColumns(sshKeys, body.attributes));
      if (changes === undefined && value === undefined) return { view: key };
      const isNameConflict =
        changed.nameKey !== key.nameKey && (await isSshKeyNameTaken(tx, key.organizationId, changed.name));
      throwIfInvalid(isNameConflict ? [nameTaken()] : []);
      await updateSshKeyRow(tx, key, {
        ...changes,
        ...(value !== undefined && { value: encryptValue(context, key.id, value) }),
      });
      const replaced = value === undefined ? undefined : { "replaced-secrets": ["value"] };
      await recordChange(tx, context, sshKeys, { before: key, after: changed }, { after: replaced });
      return { view: changed };
    });
  },

  async deleteSshKey({ context, params }) {
    return context.database.write(async (tx) => {
      const { organizationId, id } = authorizeSshKey(
        await loadSshKey(tx, context, params.sshKeyId, "organization-only"),
      );
      const connected = { organizationId, by: "sshKeyId", ids: [id] } as const;
      const lockedIds = await lockConnected(tx, connected);
      const key = authorizeSshKey(await loadSshKey(tx, context, id, "removal"));
      context.ifMatch.check(key);
      await disconnectWorkspaces(tx, key, connected, lockedIds);
      await deleteSshKeyRow(tx, key);
      await recordChange(tx, context, sshKeys, { before: key });
    });
  },
});

function encryptValue({ vault }: Context, id: string, value: string): Uint8Array {
  return vault.seal(valueOwner(id), Buffer.from(value));
}
