/** A thread that moves the embedded database's write-ahead log into its file when it is told to, and tells when it has. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const file = new DatabaseSync(workerData as string);

function move(): void {
  try {
    // It waits for nobody: what somebody still reads stays in the log until the next time.
    file.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } catch {
    // Nothing is lost by it: the log is as it was, and is tried again after the next transaction.
  }
}

parentPort?.on("message", (told: "move" | "end") => {
  if (told === "end") {
    file.close();
    parentPort?.close();
    return;
  }
  move();
  parentPort?.postMessage("moved");
});
