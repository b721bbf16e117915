/** Pure rules of SSH keys. */
import type { SshKeyTable } from "../../../database/schema/connections.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { sshKeys } from "./definition.ts";

export const valueOwner = (id: string): string => `ssh_keys/${id}/value`;

export function newSshKey(
  attributes: CreateAttributes<typeof sshKeys>,
  identity: Pick<SshKeyTable, "id" | "organizationId" | "createdAt">,
): Omit<SshKeyTable, "value"> {
  return { ...createdColumns(sshKeys, attributes), ...identity, version: 1 };
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}
