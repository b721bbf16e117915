/** Counts what would take too long to count whenever somebody looks at the metrics. */
import { takeFigures } from "../resources/shared/figures.ts";
import type { Job } from "./job.ts";

export const figures: Job = {
  name: "figures",
  doc: "counts what the metrics tell of the whole register: bytes, tokens that end soon, workspaces.",
  everyMs: 10 * 60_000,
  run: takeFigures,
};
