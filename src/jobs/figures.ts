/** Counts what would take too long to count whenever somebody asks. */
import { takeFigures } from "../resources/shared/figures.ts";
import { inBatches, type Job } from "./job.ts";

export const figures: Job = {
  name: "figures",
  doc: "counts what the metrics tell of the whole register: bytes, tokens that end soon, workspaces.",
  everyMs: 10 * 60_000,
  run: takeFigures,
};

/** So many are added up in one transaction. */
const differencesAtOnce = 10_000;

export const counters: Job = {
  name: "counters",
  doc: "adds up the differences by which PostgreSQL notes how many workspaces have a key-value tag or a status.",
  everyMs: 60_000,
  run: (work) => inBatches(work, differencesAtOnce, (tx, size) => tx.dialect.counts.addUp(tx.db, size)),
};
