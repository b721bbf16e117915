/** What this server has tried to tell others; what waits to be told is in `backlog-metrics.ts`. */
import { Counter, type Registry } from "prom-client";
import { hearAttempts } from "../resources/shared/measures.ts";

/** Gives the function that ends the count. */
export function countAttempts(registry: Registry): () => void {
  const attempts = new Counter({
    name: "cadastre_notice_attempts_total",
    help: "Notices that this server tried to deliver, by how that ended: delivered, retried later, or failed for good.",
    labelNames: ["kind", "result"],
    registers: [registry],
  });
  return hearAttempts(({ kind, result }) => attempts.inc({ kind, result }));
}
