/** A thread that checkpoints the embedded database's write-ahead log on request. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const file = new DatabaseSync(workerData as string);

function checkpoint(): void {
  try {
    file.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } catch {}
}

parentPort?.on("message", (message: "checkpoint" | "end") => {
  if (message === "end") {
    file.close();
    parentPort?.close();
    return;
  }
  checkpoint();
  parentPort?.postMessage("done");
});
