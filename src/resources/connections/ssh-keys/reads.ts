/** Reads of SSH keys for other modules, and the permission check on a key. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { SshKeyView } from "./definition.ts";
import { findSshKey } from "./store.ts";

export const sshKeysNeed = "the organization permission 'manage-vcs-settings'";

/** Members can see every key. Throws `not-found`. */
export async function loadSshKey(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock: RowLock = false,
): Promise<SshKeyView> {
  const key = await findSshKey(tx, context.actor, id, lock);
  if (key === undefined || !key.standing.member) throw notFound("SSH key");
  return key;
}

export function authorizeSshKey(key: SshKeyView): Granted<SshKeyView, "can-update-ssh-keys"> {
  return authorize(key, {
    thing: "SSH key",
    permission: "can-update-ssh-keys",
    visible: key.standing.member,
    allowed: organizationPermissions(key.standing)["can-update-ssh-keys"],
    needs: sshKeysNeed,
  });
}
