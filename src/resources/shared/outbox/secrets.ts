/** What a notice carries that nobody else may read: sealed while it waits, and removed when it has ended. */
import type { NoticeTable } from "../../../database/schema/notices.ts";
import type { Vault } from "../../../database/vault.ts";

const owner = (id: string): string => `notices/${id}/secret`;

export const sealedSecret = (vault: Vault, id: string, secret: string): Uint8Array =>
  vault.seal(owner(id), Buffer.from(secret));

/** Undefined where it carries none. */
export const openedSecret = (vault: Vault, { id, secret }: Pick<NoticeTable, "id" | "secret">): string | undefined =>
  secret === null ? undefined : Buffer.from(vault.open(owner(id), secret)).toString("utf8");
