/** Records that the register leaves its place in the object store: new contents go to the database, although the setting still names the place. */
import type { Tx } from "../../../database/database.ts";
import { deleteFact, readFact, setFact } from "../../../database/meta.ts";

export const leftPlaceFact = "contents-left-place";

/** For all servers, from their next content on. */
export const leavePlace = (tx: Tx, place: string): Promise<void> => setFact(tx, leftPlaceFact, place);

export const returnToPlace = (tx: Tx): Promise<void> => deleteFact(tx, leftPlaceFact);

export const isLeft = async (tx: Tx, place: string): Promise<boolean> => (await readFact(tx, leftPlaceFact)) === place;
