/** Starts one server under load for a proof, and stops both afterwards. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { History } from "./history.ts";
import { Load } from "./load.ts";
import { type Engine, newService, type Register, type Service, untilServing } from "./service.ts";
import { Stage } from "./stage.ts";
import { World } from "./world.ts";

const historyFolder = fileURLToPath(new URL("../node_modules/.cache/cadastre/machine/", import.meta.url));

export interface ProofResult {
  readonly name: string;
  readonly engine: Engine;
  /** Summary for the table. */
  readonly summary: string;
  readonly found: number;
  readonly faults: readonly string[];
}

export interface ProofOptions {
  /** Duration of each part. */
  readonly seconds: number;
  readonly slowness: number;
  readonly say: (line: string) => void;
}

export interface LoadedService {
  readonly service: Service;
  readonly stage: Stage;
  readonly world: World;
  readonly history: History;
  /** Stops the load and waits for the last responses. */
  rest(): Promise<void>;
}

export async function underLoad<T>(
  name: string,
  { register, folder, slowness }: { readonly register: Register; readonly folder: string; readonly slowness: number },
  work: (loaded: LoadedService) => Promise<T>,
): Promise<T> {
  const service = await newService(folder, register);
  const history = new History(join(historyFolder, `${name}.jsonl`));
  let load: Load | undefined;
  const rest = async () => {
    await load?.end();
    await load?.endAgents();
  };
  try {
    service.part.start();
    await untilServing(service);
    const stage = new Stage([service.target], history);
    const world = await World.make(service.target, register.adminToken, name);
    load = await Load.prepare(stage, world, slowness);
    load.begin();
    return await work({ service, stage, world, history, rest });
  } finally {
    await rest();
    await service.part.stop();
    await history.close();
  }
}

/** A temporary directory that other users can read, because PostgreSQL runs as another user. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-machine-"));
  chmodSync(folder, 0o755);
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
