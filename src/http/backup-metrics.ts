/** When the register was last backed up by the schedule, as the register has it: the same on every server. */
import { Gauge, type Registry } from "prom-client";
import { lastBackup } from "../backup/schedule.ts";
import type { Database } from "../database/database.ts";
import { soonOrNone } from "./health.ts";

/** Gives the function that takes a new look. */
export function watchBackups(registry: Registry, { reader }: Database): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const at = gauge(
    "cadastre_backup_last_success_timestamp_seconds",
    "When the last good backup on the schedule was made; absent where there was none.",
  );
  const bytes = gauge("cadastre_backup_last_size_bytes", "How large it is.");
  return async () => {
    const last = await soonOrNone(lastBackup(reader));
    // Unknown is not none: a gauge without a value is left out.
    for (const metric of [at, bytes]) metric.remove();
    if (last === undefined) return;
    at.set(Date.parse(last.at) / 1000);
    bytes.set(last.bytes);
  };
}
