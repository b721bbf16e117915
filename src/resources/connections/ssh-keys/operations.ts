/** Operations on SSH keys: load → authorize → decide → write. The value is sealed before it is stored, and left out of the trail. */
import type { Tx } from "../../../database/database.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { grantOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { checkIfMatch } from "../../shared/preconditions.ts";
import { sshKeys, type SshKeyView } from "./definition.ts";
import { grantSshKey, loadSshKey, sshKeysNeed } from "./reads.ts";
import { nameTaken, toColumns, valueOwner } from "./rules.ts";
import { deleteSshKeyRow, insertSshKey, isSshKeyNameTaken, listSshKeyRows, updateSshKeyRow } from "./store.ts";

export const sshKeyResource = implement(sshKeys, {
  async listSshKeys({ context, params, query }) {
    const tx = context.database.reader;
    return listSshKeyRows(tx, await loadOrganization(tx, context, params.organizationName), query.page);
  },

  async createSshKey({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = grantOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-update-ssh-keys",
        sshKeysNeed,
      );
      const { name, value } = body.attributes;
      refuseIfAny((await isSshKeyNameTaken(tx, organization.id, name)) ? [nameTaken()] : []);
      const id = newId("ssh-keys");
      const row = {
        id,
        organizationId: organization.id,
        name,
        nameKey: fold(name),
        createdAt: now(),
        version: 1,
      };
      await insertSshKey(tx, { ...row, value: sealed(context, id, value) });
      const view = { ...row, organizationName: organization.name, standing: organization.standing };
      await recordChange(tx, context, sshKeys, { after: view });
      return { view };
    });
  },

  async showSshKey({ context, params }) {
    return { view: await loadSshKey(context.database.reader, context, params.sshKeyId) };
  },

  async updateSshKey({ context, params, body, ifMatch }) {
    return context.database.write(async (tx) => {
      const key = grantSshKey(await loadSshKey(tx, context, params.sshKeyId, true));
      checkIfMatch(ifMatch, sshKeys, key);
      const { value } = body.attributes;
      const changes = changesOf<SshKeyView>(key, toColumns(body.attributes));
      if (changes === undefined && value === undefined) return { view: key };
      const changed = { ...key, ...changes, version: key.version + 1 };
      const renamed =
        changed.nameKey !== key.nameKey && (await isSshKeyNameTaken(tx, key.organizationId, changed.name));
      refuseIfAny(renamed ? [nameTaken()] : []);
      await updateSshKeyRow(tx, key, {
        ...changes,
        ...(value !== undefined && { value: sealed(context, key.id, value) }),
      });
      await recordUpdate(tx, context, key, changed, value !== undefined);
      return { view: changed };
    });
  },

  async deleteSshKey({ context, params, ifMatch }) {
    return context.database.write(async (tx) => {
      const key = grantSshKey(await loadSshKey(tx, context, params.sshKeyId, true));
      checkIfMatch(ifMatch, sshKeys, key);
      await deleteSshKeyRow(tx, key);
      await recordChange(tx, context, sshKeys, { before: key });
    });
  },
});

function sealed({ vault }: Context, id: string, value: string): Uint8Array {
  return vault.seal(valueOwner(id), Buffer.from(value));
}

/** The trail says that the value was replaced, never by what. */
async function recordUpdate(
  tx: Tx,
  context: Context,
  before: SshKeyView,
  after: SshKeyView,
  replaced: boolean,
): Promise<void> {
  await recordEvent(tx, context, {
    organizationId: before.organizationId,
    verb: "update",
    subject: { type: sshKeys.type, id: before.id },
    before: auditedAttributes(sshKeys, before),
    after: { ...auditedAttributes(sshKeys, after), ...(replaced && { "replaced-secrets": ["value"] }) },
  });
}
