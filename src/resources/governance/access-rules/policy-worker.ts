/** The worker thread that checks policies: it can be terminated at any time. */
import { parentPort } from "node:worker_threads";
import { parsePolicy } from "./policy.ts";

parentPort?.on("message", (text: string) => parentPort?.postMessage(parsePolicy(text)));
