/** Writes logs as agents do. */
import { appendLog, endLog } from "../../../../src/resources/runs/phases/logs.ts";
import type { Api } from "../../../support/api.ts";
import { testVault } from "../../../support/phases.ts";

const phaseIn = (tx: any, id: string) =>
  tx.db.selectFrom("runPhases").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

export const appendToLog = (
  { database }: Pick<Api, "database">,
  id: string,
  offset: number,
  bytes: string | Uint8Array,
) => database.write(async (tx) => appendLog(tx, testVault, await phaseIn(tx, id), offset, Buffer.from(bytes)));

export const endLogOf = ({ database }: Pick<Api, "database">, id: string) =>
  database.write(async (tx) => endLog(tx, testVault, await phaseIn(tx, id)));
