/** The ids by which a place in an object store names the register that it belongs to. */
import { randomBytes } from "node:crypto";
import type { Database, Tx } from "../../../database/database.ts";
import { readFact, setFact, setFactIfAbsent } from "../../../database/meta.ts";

export const registerIdFact = "register-id";
/** The id of the register whose backup this one was restored from. */
export const registerOriginFact = "register-origin";

export interface RegisterIdentity {
  readonly id: string;
  readonly origin: string | undefined;
}

const newRegisterId = (): string => `register-${randomBytes(12).toString("hex")}`;

/** Creates the id at the first call. */
export async function registerIdentity(database: Database): Promise<RegisterIdentity> {
  let id = await readFact(database.reader, registerIdFact);
  if (id === undefined) {
    await database.write((tx) => setFactIfAbsent(tx, registerIdFact, newRegisterId()));
    id = await readFact(database.reader, registerIdFact);
  }
  return { id: id ?? "", origin: await readFact(database.reader, registerOriginFact) };
}

/** After a restore: the register that was backed up may still be running on the same place. */
export async function becomeCopy(tx: Tx): Promise<void> {
  const origin = await readFact(tx, registerIdFact);
  if (origin !== undefined) await setFact(tx, registerOriginFact, origin);
  await setFact(tx, registerIdFact, newRegisterId());
}
