/** What comes from version control, counted where it comes in and where it is worked off. */
import { Counter, type Registry } from "prom-client";
import { hearVcsEvents } from "../resources/shared/measures.ts";

/** Gives the function that ends the count. */
export function countVcsEvents(registry: Registry): () => void {
  const events = new Counter({
    name: "cadastre_vcs_events_total",
    help: "Webhooks of version control that this server took in (stored), knew already (repeated), had no use for (unknown) or refused (refused); and what became of events that it worked off: started, ignored, failed.",
    labelNames: ["provider", "result"],
    registers: [registry],
  });
  return hearVcsEvents(({ provider, result }) => events.inc({ provider, result }));
}
