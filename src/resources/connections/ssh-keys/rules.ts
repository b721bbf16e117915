/** Pure rules of SSH keys. */
import type { SshKeyTable } from "../../../database/schema/connections.ts";
import type { UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import type { sshKeys } from "./definition.ts";

/** What a key's value is sealed for, so that it can't be moved to another row. */
export const valueOwner = (id: string): string => `ssh_keys/${id}/value`;

/** Attributes as the table stores them, without the value; absent stays absent. */
export function toColumns({ name }: UpdateAttributes<typeof sshKeys>): Partial<Omit<SshKeyTable, "value">> {
  return name === undefined ? {} : { name, nameKey: fold(name) };
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}
